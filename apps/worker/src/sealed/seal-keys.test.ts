import { beforeAll, expect, test } from 'bun:test'
import { statementFacts } from '../testing/statement-facts.ts'
import { SealKeys } from './seal-keys.ts'

const minuteMs = 60_000
let nowMs: number
let keys: SealKeys
let sealKeyId: Uint8Array<ArrayBuffer>

/** Any encapsulation of the right length yields a secret, and so a session. */
const encapsulation = (number: number) => new Uint8Array(1120).fill(number)
/** A cached session is returned synchronously; any other is opened again. */
const isKept = (number: number) =>
  keys.findSecret(sealKeyId, encapsulation(number)) instanceof Uint8Array
const open = async (number: number) => keys.findSecret(sealKeyId, encapsulation(number))

beforeAll(async () => {
  nowMs = Date.parse('2026-01-01')
  keys = new SealKeys(statementFacts, () => new Date(nowMs))
  sealKeyId = new Uint8Array(Buffer.from((await keys.current()).id, 'hex'))
})

test('a session is kept as long as it is used now and then', async () => {
  await open(1)
  for (let time = 0; time < 10; time++) {
    nowMs += 9 * minuteMs
    expect(isKept(1)).toBe(true)
  }
})

test('an idle session is evicted, and opens to the same secret again', async () => {
  const secret = await open(2)
  for (const minutes of [11, 11]) {
    nowMs += minutes * minuteMs
    await open(3)
  }
  expect(isKept(2)).toBe(false)
  expect(await open(2)).toEqual(secret!)
})

test('setting the clock back keeps no session longer', async () => {
  await open(4)
  nowMs -= 60 * minuteMs
  await open(5)
  nowMs -= 60 * minuteMs
  expect(isKept(4)).toBe(false)
})

test('the number of cached sessions is bounded, and those in use stay', async () => {
  const few = new SealKeys(statementFacts, () => new Date(nowMs), 4)
  const id = new Uint8Array(Buffer.from((await few.current()).id, 'hex'))
  for (let number = 1; number <= 20; number++) {
    await few.findSecret(id, encapsulation(1))
    await few.findSecret(id, encapsulation(number))
  }
  const kept = Array.from({ length: 20 }, (_, number) =>
    few.findSecret(id, encapsulation(number + 1)),
  ).filter((secret) => secret instanceof Uint8Array)
  expect(kept.length).toBeGreaterThan(1)
  expect(kept.length).toBeLessThanOrEqual(4)
  expect(few.findSecret(id, encapsulation(1))).toBeInstanceOf(Uint8Array)
})

test('sessions of discarded keys are not kept', async () => {
  await open(6)
  nowMs += 11 * minuteMs
  await open(7) // the sixth is among the idle ones now
  keys.forget()
  expect(keys.findSecret(sealKeyId, encapsulation(6))).toBeUndefined()
})

test('a session that opens while its key is forgotten opens nothing', async () => {
  const others = new SealKeys(statementFacts, () => new Date())
  const id = new Uint8Array(Buffer.from((await others.current()).id, 'hex'))
  const opening = others.findSecret(id, encapsulation(1))
  others.forget()
  expect(await opening).toBeUndefined()
})
