import { expect, test } from 'bun:test'
import { encodeText } from '@privatemode/protocol/envelope'
import { WaitingBytes } from './waiting-bytes.ts'

test('a moment is not waited for once the source has given all', async () => {
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

test('a moment that comes first is waited for, and no longer', async () => {
  const waiting = new WaitingBytes(100)
  const source = async function* () {
    yield encodeText('one')
    await new Promise<void>(() => {})
  }
  void waiting.fill(source())
  await waiting.untilClosed(Bun.sleep(1))
  expect(waiting.closed).toBe(false)
})
