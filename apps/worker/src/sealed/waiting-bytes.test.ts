import { expect, test } from 'bun:test'
import { encodeText } from '@privatemode/protocol/envelope'
import { WaitingBytes } from './waiting-bytes.ts'

test('waiting for a moment ends once the source is exhausted', async () => {
  const waiting = new WaitingBytes(100)
  const last = Promise.withResolvers<void>()
  const source = async function* () {
    yield encodeText('one')
    await last.promise
  }
  const reading = waiting.fill(source())
  await waiting.untilAny()
  const never = new Promise<void>(() => {})
  const waited = waiting.untilClosed(never)
  expect(waiting.closed).toBe(false)
  last.resolve()
  await waited
  expect(waiting.closed).toBe(true)
  await waiting.untilClosed(never)
  await reading
})

test('waiting ends at the moment if it comes first', async () => {
  const waiting = new WaitingBytes(100)
  const source = async function* () {
    yield encodeText('one')
    await new Promise<void>(() => {})
  }
  void waiting.fill(source())
  await waiting.untilClosed(Bun.sleep(1))
  expect(waiting.closed).toBe(false)
})

test('bytes are taken in order, up to a number, and never as an empty part', async () => {
  const waiting = new WaitingBytes(100)
  const source = async function* () {
    for (const text of ['one', '', 'two', 'three']) yield encodeText(text)
  }
  await waiting.fill(source())
  const take = (most: number) => waiting.take(most).map((part) => new TextDecoder().decode(part))
  expect(take(0)).toEqual([])
  expect(take(4)).toEqual(['one', 't'])
  expect(waiting.length).toBe(7)
  expect(take(2)).toEqual(['wo'])
  expect(waiting.ended).toBe(false)
  expect(take(100)).toEqual(['three'])
  expect(waiting.ended).toBe(true)
  expect(take(100)).toEqual([])
})
