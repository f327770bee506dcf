import { describe, expect, test } from 'bun:test'
import { utf8 } from '../bytes.ts'
import type { NvidiaGpuEvidence } from '../evidence.ts'
import { authenticate, contextOf, refused } from '../testing/nvidia-attempts.ts'
import {
  driverRim,
  gpuEvidence,
  gpuReport,
  makeNvidiaWorld,
  measurement,
  type NvidiaWorld,
  signReport,
  vbiosRim,
} from '../testing/nvidia-world.ts'
import { type RimParts, signRim, writeRim } from '../testing/rim-writer.ts'
import type { OpaquePart } from '../testing/spdm-writer.ts'
import { readReferenceIds } from './authenticate-nvidia.ts'

const evidenceOf = async (
  vendor: NvidiaWorld,
  opaque: readonly OpaquePart[],
  rims: readonly RimParts[],
): Promise<NvidiaGpuEvidence> => {
  const signed: Uint8Array[] = []
  for (const rim of rims) signed.push(await signRim(writeRim(rim), vendor.rimSigner))
  const report = await signReport(vendor, gpuReport(vendor, { opaque }))
  return gpuEvidence(vendor, { report, rims: signed })
}

describe('a Blackwell GPU', async () => {
  // As on real devices: not configured (bit 0), and the flag that says there are 32 of them.
  const vendor = await makeNvidiaWorld('GB20X', 0x80)
  const context = contextOf({ roots: vendor.roots })
  const rims = [driverRim, vbiosRim].map((rim) => ({ ...rim, product: 'GB202' }))
  const opaque = [...gpuReport(vendor).opaque, { type: 35, value: utf8('GB202\0') }]

  test('is certified by a DiceTcbInfo and may name the member of its family', async () => {
    const claims = await authenticate(await evidenceOf(vendor, opaque, rims), { context })
    expect(claims.architecture).toBe('blackwell')
    expect(claims.rimIds.driver).toBe('NV_GPU_CC_DRIVER_GB202_550.90.07')
    expect(readReferenceIds(await evidenceOf(vendor, opaque, []))).toEqual(claims.rimIds)
  })

  test('whose own certificate is missing has no reference values', async () => {
    const evidence = await evidenceOf(vendor, opaque, [])
    const [leaf = ''] = evidence.certificate_chain.split(/(?<=-----END CERTIFICATE-----)/)
    expect(() => readReferenceIds({ ...evidence, certificate_chain: leaf })).toThrow(
      expect.objectContaining({ code: 'chain_mismatch' }),
    )
  })

  test('needs RIMs for its own chip', async () => {
    const evidence = await evidenceOf(vendor, opaque, [driverRim, vbiosRim])
    await refused(evidence, 'collateral_mismatch', 'nvidia/rim/role', { context })
  })

  test('of firmware other than the certified one is refused', async () => {
    const changed = opaque.map((part) =>
      part.type === 20 ? { ...part, value: new Uint8Array(48) } : part,
    )
    const evidence = await evidenceOf(vendor, changed, rims)
    await refused(evidence, 'chain_mismatch', 'nvidia/firmware-id', { context })
  })

  test.each([
    ['not secure', 0x40],
    ['in recovery', 0x20],
    ['in debug', 0x10],
  ])('whose firmware is certified as %s is refused', async (_, flags) => {
    const unsafe = await makeNvidiaWorld('GB20X', flags)
    const evidence = await gpuEvidence(unsafe)
    await refused(evidence, 'debug_enabled', 'nvidia/leaf-flags', {
      context: contextOf({ roots: unsafe.roots }),
    })
  })
})

describe('an LS10 switch', async () => {
  const vendor = await makeNvidiaWorld('LS_10')
  const context = contextOf({ roots: vendor.roots })
  const opaque = [{ type: 6, value: utf8('96.10.55.00.01') }]
  const rim: RimParts = {
    product: 'LS10',
    edition: 'SWITCH',
    version: '96.10.55.00.01',
    entries: [{ index: 0, values: [measurement(1).toHex()] }],
  }

  test('has only a VBIOS, and is authentic with its one RIM', async () => {
    const claims = await authenticate(await evidenceOf(vendor, opaque, [rim]), { context })
    expect(claims).toMatchObject({ device: 'switch', architecture: 'ls10' })
    expect(claims.driverVersion).toBeUndefined()
    expect(claims.rimIds).toEqual({ vbios: 'NV_SWITCH_BIOS_5612_0002_890_9610550001' })
  })

  test('without its RIM is refused', async () => {
    const evidence = await evidenceOf(vendor, opaque, [])
    await refused(evidence, 'collateral_missing', 'nvidia/rim/vbios', { context })
  })

  test('does not pass with the RIM of a GPU', async () => {
    const evidence = await evidenceOf(vendor, opaque, [{ ...rim, edition: 'GPU' }])
    await refused(evidence, 'collateral_mismatch', 'nvidia/rim/role', { context })
  })

  test('cannot pose as a GPU: its certificate decides what it is', async () => {
    const evidence = await evidenceOf(vendor, gpuReport(vendor).opaque, [driverRim, vbiosRim])
    await refused(evidence, 'evidence_malformed', 'nvidia/fields', { context })
  })
})
