import { expect, test } from 'bun:test'
import { renewAfterMs } from '@privatemode/protocol/fleet'
import { createLog, Secret } from '@privatemode/service'
import { RelayKeys } from '../relay/relay-keys.ts'
import { Registration, type RegistrationOptions } from './registration.ts'

const log = createLog({ format: 'json', level: 100, write: () => {} })

const registering = (fetch: RegistrationOptions['fetch']) =>
  new Registration({
    ...{
      gatewayUrl: 'http://gateway.internal',
      registerToken: () => new Secret('token'),
      log,
      fetch,
    },
    ...{ workerId: 'w1', url: 'http://worker.internal', receiptKey: new Uint8Array(32) },
    relayKeys: new RelayKeys(),
    capacity: 1,
    state: async () => ({ sealKeyId: 'k1', models: [], active: 0, draining: false }),
  })

test('a worker renews within the lease granted by the registry', async () => {
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
  // The minimum of three: on a busy core any one of them may be late.
  expect(Math.min(...pausesMs)).toBeLessThan(1_000)
}, 240_000)

test.each([
  ['{"left":true,"linger_seconds":3}', 3_000],
  ['{"left":true,"linger_seconds":3600}', 30_000],
  ['{"left":true,"linger_seconds":-1}', 0],
  ['{"left":true,"linger_seconds":"3"}', 0],
  ['{"left":true}', 0],
  ['null', 0],
  ['<html>', 0],
])(
  'a worker that left keeps serving for as long as the registry asks: %s',
  async (answer, expectedMs) => {
    const registration = registering(async () => new Response(answer))
    expect(await registration.leave()).toBe(expectedMs)
  },
)

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

test('an attempt that took longer than the pause is followed immediately by the next', async () => {
  const gapsMs: number[] = []
  const enough = Promise.withResolvers<void>()
  let attempts = 0
  let endedMs = 0
  const registration = registering(async () => {
    if (attempts++ === 0) return Response.json({ lease_seconds: 1, drain: false })
    if (endedMs > 0) gapsMs.push(performance.now() - endedMs)
    if (gapsMs.length === 4) enough.resolve()
    await Bun.sleep(450) // the pause of this lease is a third of a second
    endedMs = performance.now()
    throw new Error('did not answer in time')
  })
  await registration.start()
  await enough.promise
  await registration.leave()
  // The minimum of four: on a busy core any one of them may be late.
  expect(Math.min(...gapsMs)).toBeLessThan(200)
}, 240_000)
