import { expect, test } from 'bun:test'
import { renewAfterMs } from '@privatemode/protocol/fleet'
import { createLog, Secret } from '@privatemode/service'
import { RelayKeys } from '../relay/relay-keys.ts'
import { Registration, type RegistrationOptions } from './registration.ts'

const log = createLog({ format: 'json', level: 100, write: () => {} })

const registering = (fetch: RegistrationOptions['fetch']) =>
  new Registration({
    ...{ gatewayUrl: 'http://gateway.internal', registerToken: new Secret('token'), log, fetch },
    ...{ workerId: 'w1', url: 'http://worker.internal', receiptKey: new Uint8Array(32) },
    relayKeys: new RelayKeys(),
    capacity: 1,
    state: async () => ({ sealKeyId: 'k1', models: [], active: 0, draining: false }),
  })

test('a worker renews within the lease that the registry answers', async () => {
  const begunMs: number[] = []
  const enough = Promise.withResolvers<void>()
  const registration = registering(async () => {
    begunMs.push(performance.now())
    if (begunMs.length === 4) enough.resolve()
    return Response.json({ lease_seconds: 1, drain: false })
  })
  await registration.start()
  await enough.promise
  await registration.leave()
  const pausesMs = begunMs.slice(1).map((ms, index) => ms - (begunMs[index] ?? 0))
  // The least of three: on a busy core any one of them may be late.
  expect(Math.min(...pausesMs)).toBeLessThan(1_000)
}, 30_000)

test.each([
  [6, 2_000],
  [3600, 2_000],
  [1, 1_000 / 3],
  [0.001, 100],
  [0, 2_000],
  [-1, 2_000],
  [Number.NaN, 2_000],
  [undefined, 2_000],
])('a lease of %p seconds is renewed after %p ms', (leaseSeconds, expectedMs) => {
  expect(renewAfterMs(leaseSeconds)).toBeCloseTo(expectedMs)
})

test('an attempt that took longer than the pause is followed by the next at once', async () => {
  const begunMs: number[] = []
  const registration = registering(async () => {
    begunMs.push(performance.now())
    if (begunMs.length > 1) return new Response('{}')
    await Bun.sleep(2_100)
    throw new Error('did not answer in time')
  })
  await registration.start()
  for (let wait = 0; wait < 100 && begunMs.length < 2; wait++) await Bun.sleep(20)
  await registration.leave()
  const [first = 0, second = Number.POSITIVE_INFINITY] = begunMs
  expect(second - first).toBeLessThan(4_000)
}, 30_000)
