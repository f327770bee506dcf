import { expect, test } from 'bun:test'
import { createLog, Secret } from '@privatemode/service'
import { RelayKeys } from '../relay/relay-keys.ts'
import { Registration } from './registration.ts'

const log = createLog({ format: 'json', level: 100, write: () => {} })

test('an attempt that took longer than the pause is followed by the next at once', async () => {
  const begunMs: number[] = []
  const registration = new Registration({
    ...{ gatewayUrl: 'http://gateway.internal', operatorToken: new Secret('token'), log },
    ...{ workerId: 'w1', url: 'http://worker.internal', receiptKey: new Uint8Array(32) },
    relayKeys: new RelayKeys(),
    capacity: 1,
    fetch: async () => {
      begunMs.push(performance.now())
      if (begunMs.length > 1) return new Response('{}')
      await Bun.sleep(2_100)
      throw new Error('did not answer in time')
    },
    state: async () => ({ sealKeyId: 'k1', models: [], active: 0, draining: false }),
  })
  await registration.start()
  for (let wait = 0; wait < 100 && begunMs.length < 2; wait++) await Bun.sleep(20)
  await registration.leave()
  const [first = 0, second = Number.POSITIVE_INFINITY] = begunMs
  expect(second - first).toBeLessThan(4_000)
}, 30_000)
