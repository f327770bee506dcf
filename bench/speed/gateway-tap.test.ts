import { expect, test } from 'bun:test'
import { registryPaths } from '@privatemode/protocol/fleet'
import { tapGateway } from './gateway-tap.ts'

test('usage is booked once the gateway has acknowledged the report, not before', async () => {
  const arrived = Promise.withResolvers<void>()
  const acknowledged = Promise.withResolvers<void>()
  using gateway = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      arrived.resolve()
      await acknowledged.promise
      return Response.json({ accepted: 1, rejected: 0 })
    },
  })
  const tap = tapGateway(gateway.url.origin, 0)
  await tap.untilBooked()
  const report = fetch(tap.url + registryPaths.usage, { method: 'POST', body: '{}' })
  await arrived.promise
  const order: string[] = []
  const booked = tap.untilBooked().then(() => order.push('booked'))
  await new Promise(setImmediate)
  order.push('acknowledged')
  acknowledged.resolve()
  await booked
  expect(order).toEqual(['acknowledged', 'booked'])
  expect(await (await report).json()).toEqual({ accepted: 1, rejected: 0 })
})
