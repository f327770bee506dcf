import { describe, test } from 'bun:test'
import { type Bytes, formatBase64 } from '../bytes.ts'
import {
  authenticate,
  contextOf,
  good,
  otherWorld,
  refused,
  withOpaque,
  withReport,
  withRims,
  world,
} from '../testing/nvidia-attempts.ts'
import { driverRim, gpuReport, measurement, vbiosRim } from '../testing/nvidia-world.ts'
import { signRim, writeRim } from '../testing/rim-writer.ts'

describe('RIMs', () => {
  test.each([
    ['driver', [vbiosRim]],
    ['vbios', [driverRim]],
  ] as const)('without the one for the %s are not enough', async (role, rims) => {
    await refused(await withRims(...rims), 'collateral_missing', `nvidia/rim/${role}`)
  })

  test('for another driver version are refused', async () => {
    const evidence = await withRims({ ...driverRim, version: '550.90.08' }, vbiosRim)
    await refused(evidence, 'collateral_mismatch', 'nvidia/rim/role')
  })

  test.each([
    ['chip', { product: 'GB100' }],
    ['kind of device', { edition: 'SWITCH' }],
  ])('for another %s are refused', async (_, change) => {
    const evidence = await withRims({ ...driverRim, ...change }, vbiosRim)
    await refused(evidence, 'collateral_mismatch', 'nvidia/rim/role')
  })

  test('that occur twice are refused', async () => {
    const evidence = await withRims(driverRim, driverRim, vbiosRim)
    await refused(evidence, 'collateral_mismatch', 'nvidia/rim/driver/version')
  })

  test('beyond the limit are refused before they are parsed', async () => {
    const evidence = { ...good, rims: Array.from({ length: 5 }, () => '') }
    await refused(evidence, 'collateral_malformed', 'nvidia/rim')
  })

  test('that both cover one measurement are refused', async () => {
    const entries = [...vbiosRim.entries.filter(({ active }) => active !== false)]
    const shared = { index: 7, values: ['08'.repeat(48)] }
    const evidence = await withRims(driverRim, { ...vbiosRim, entries: [...entries, shared] })
    await refused(evidence, 'collateral_mismatch', 'nvidia/rim/overlap')
  })

  test('of a signer under another root are refused', async () => {
    const foreign = await signRim(writeRim(driverRim), otherWorld.rimSigner)
    const evidence = { ...good, rims: [formatBase64(foreign), good.rims[1]!] }
    await refused(evidence, 'chain_untrusted', 'nvidia/rim/0/chain/root')
  })

  test('signed under the device root are refused: roots are pinned by purpose', async () => {
    const roots = { ...world.roots, nvidiaRim: world.roots.nvidiaDevice }
    const context = contextOf({ roots })
    await refused(good, 'chain_untrusted', 'nvidia/rim/0/chain/root', { context })
  })
})

describe('measurements', () => {
  const withMeasurement = (index: number, value: Bytes | undefined) => {
    const measurements = new Map<number, Uint8Array>(gpuReport(world).measurements)
    if (value) measurements.set(index, value)
    else measurements.delete(index)
    return withReport({ measurements })
  }

  test.each([1, 2, 13])('one bit off in a VBIOS measurement (%d) is refused', async (index) => {
    const value = measurement(index)
    value[0]! ^= 1
    const evidence = await withMeasurement(index, value)
    await refused(evidence, 'measurement_mismatch', 'nvidia/rim/vbios/measurements')
  })

  test.each([8, 22])('one bit off in a driver measurement (%d) is refused', async (index) => {
    const value = measurement(index)
    value[47]! ^= 0x80
    const evidence = await withMeasurement(index, value)
    await refused(evidence, 'measurement_mismatch', 'nvidia/rim/driver/measurements')
  })

  test('that are missing are refused', async () => {
    const evidence = await withMeasurement(22, undefined)
    await refused(evidence, 'measurement_mismatch', 'nvidia/rim/driver/measurements')
  })

  test('of another length are refused', async () => {
    const evidence = await withMeasurement(22, measurement(22).slice(0, 47))
    await refused(evidence, 'measurement_mismatch', 'nvidia/rim/driver/measurements')
  })

  test('equal to any alternative are accepted', async () => {
    await authenticate(await withMeasurement(13, measurement(78)))
  })

  test('without an active entry are not compared', async () => {
    await authenticate(await withMeasurement(50, measurement(51)))
  })

  test.each([
    ['that is on', Uint8Array.of(0xaa)],
    ['whose status is not stated', undefined],
  ])('of a video decoder %s are compared', async (_, status) => {
    const evidence = await withOpaque(11, status)
    await refused(evidence, 'measurement_mismatch', 'nvidia/rim/driver/measurements')
  })
})
