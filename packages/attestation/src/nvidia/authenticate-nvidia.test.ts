import { describe, expect, test } from 'bun:test'
import { concatBytes, formatBase64, utf8 } from '../bytes.ts'
import { integer, objectIdentifier, octetString, sequence } from '../der/der-writer.ts'
import type { NvidiaGpuEvidence } from '../evidence.ts'
import {
  authenticate,
  contextOf,
  good,
  goodNonce,
  otherWorld,
  refused,
  withOpaque,
  world,
} from '../testing/nvidia-attempts.ts'
import {
  certify,
  compositeDeviceId,
  gpuEvidence,
  gpuReport,
  makeNvidiaWorld,
  signReport,
  tcbInfo,
} from '../testing/nvidia-world.ts'
import { keyUsageBits } from '../testing/test-authority.ts'
import { Transcript } from '../verdict.ts'
import { authenticateNvidiaReport } from './authenticate-nvidia.ts'

describe('complete evidence', () => {
  test('is authentic, and every check is recorded', async () => {
    const transcript = new Transcript()
    const claims = await authenticate(good, {}, transcript)
    expect(claims).toMatchObject({
      kind: 'nvidia-gpu',
      device: 'gpu',
      architecture: 'hopper',
      driverVersion: '550.90.07',
      vbiosVersion: '96.00.9F.00.01',
      mode: 'single-pass-through',
      rimIds: {
        driver: 'NV_GPU_DRIVER_GH100_550.90.07',
        vbios: 'NV_GPU_VBIOS_1010_0200_882_96009F0001',
      },
    })
    const skipped = transcript.checks.filter(({ result }) => result === 'skipped')
    expect(skipped.map(({ id }) => id)).toEqual([
      'nvidia/chain/0/revocation',
      'nvidia/rim/driver/measurement-35',
    ])
    expect(transcript.checks.length).toBeGreaterThan(40)
  })

  test('may carry its RIMs in any order', async () => {
    await authenticate({ ...good, rims: good.rims.toReversed() })
  })

  test('is authentic without an expected nonce, which is reported as not checked', async () => {
    const transcript = new Transcript()
    await authenticate(good, { nonce: undefined }, transcript)
    expect(transcript.checks).toContainEqual(
      expect.objectContaining({ id: 'nvidia/nonce', result: 'skipped' }),
    )
  })
})

describe('the report', () => {
  test('for another nonce is refused', () =>
    refused(good, 'nonce_mismatch', 'nvidia/nonce', { nonce: new Uint8Array(32) }))

  test('that is not base64 is refused', () =>
    refused({ ...good, report: '***' }, 'evidence_malformed', 'nvidia/report'))

  test('signed by another device is refused', async () => {
    const report = formatBase64(await signReport(otherWorld, gpuReport(world)))
    await refused({ ...good, report }, 'signature_invalid', 'nvidia/report-signature')
  })

  test('of firmware other than the certified one is refused', async () => {
    const evidence = await withOpaque(20, new Uint8Array(48))
    await refused(evidence, 'chain_mismatch', 'nvidia/firmware-id')
  })

  test('without a firmware id passes with that check shown as skipped', async () => {
    const transcript = new Transcript()
    await authenticate(await withOpaque(20, undefined), {}, transcript)
    expect(transcript.checks).toContainEqual(
      expect.objectContaining({ id: 'nvidia/firmware-id', result: 'skipped' }),
    )
  })

  test.each<[string, number, Uint8Array | undefined]>([
    ['no driver version', 3, undefined],
    ['a driver version of another form', 3, utf8('550;90')],
    ['a driver version with a zero inside', 3, utf8('550\0.90')],
    ['no VBIOS version', 6, undefined],
    ['a VBIOS version of another length', 6, new Uint8Array(7)],
    ['a VBIOS version with more parts', 6, new Uint8Array(8).fill(1)],
    ['no project', 17, undefined],
    ['an unknown decoder status', 11, Uint8Array.of(0)],
    ['an unknown mode', 36, Uint8Array.of(7, 0)],
  ])('with %s is refused', async (_, type, value) => {
    await refused(await withOpaque(type, value), 'evidence_malformed', 'nvidia/fields')
  })
})

const fwid = (length: number, hash = '2.16.840.1.101.3.4.2.2') =>
  sequence(objectIdentifier(hash), octetString(new Uint8Array(length)))

describe('the device chain', () => {
  const issued = world.deviceChain.map(({ certificate }) => certificate).toReversed()
  const chainOf = (...chain: readonly Uint8Array[]) => gpuEvidence(world, { chain })
  const device = world.deviceChain[3]!
  const withLeaf = async (request: Parameters<typeof certify>[3]): Promise<NvidiaGpuEvidence> => {
    const leaf = await certify(device, 'leaf', 9, request)
    const chain = [leaf.certificate, ...issued]
    const report = await signReport({ ...world, leaf }, gpuReport(world))
    return gpuEvidence(world, { chain, report })
  }
  const composite = (value: Uint8Array) => ({
    keyUsage: keyUsageBits.digitalSignature,
    extensions: [{ oid: '2.23.133.5.4.1', value }],
  })

  test('that ends in another root is refused, whatever its names say', async () => {
    const evidence = await gpuEvidence(otherWorld)
    await refused(evidence, 'chain_untrusted', 'nvidia/chain/root')
  })

  test('with a RIM root is refused: roots are pinned by purpose', async () => {
    const roots = { ...world.roots, nvidiaDevice: world.roots.nvidiaRim }
    await refused(good, 'chain_untrusted', 'nvidia/chain/root', { context: contextOf({ roots }) })
  })

  test('without its leaf is refused', async () => {
    await refused(await chainOf(...issued), 'chain_mismatch', 'nvidia/leaf')
  })

  test('consisting of the root alone is refused', async () => {
    const [root] = issued.slice(-1)
    await refused(await chainOf(root!), 'chain_mismatch', 'nvidia/chain/length')
  })

  test('without an intermediate is refused', async () => {
    const chain = [world.leaf.certificate, ...issued.filter((_, index) => index !== 1)]
    await refused(await chainOf(...chain), 'chain_mismatch', 'nvidia/chain/1/issuer')
  })

  test('whose leaf may not sign reports is refused', async () => {
    const value = compositeDeviceId(device, world.firmwareId)
    const evidence = await withLeaf({ ...composite(value), keyUsage: keyUsageBits.keyCertSign })
    await refused(evidence, 'chain_mismatch', 'nvidia/leaf')
  })

  test('whose leaf is an authority is refused', async () => {
    const value = compositeDeviceId(device, world.firmwareId)
    await refused(await withLeaf({ ...composite(value), ca: {} }), 'chain_mismatch', 'nvidia/leaf')
  })

  test('whose leaf names a device key other than its issuer’s is refused', async () => {
    const value = compositeDeviceId(otherWorld.deviceChain[3]!, world.firmwareId)
    await refused(await withLeaf(composite(value)), 'chain_mismatch', 'nvidia/leaf-device-key')
  })

  test.each([
    ['another version of the extension', sequence(integer(2), device.subject.key.spki, fwid(48))],
    ['a firmware id of another length', sequence(integer(1), device.subject.key.spki, fwid(32))],
    [
      'a firmware id of another hash',
      sequence(integer(1), device.subject.key.spki, fwid(48, '2.16.840.1.101.3.4.2.1')),
    ],
  ])('whose leaf has %s is refused', async (_, value) => {
    await refused(await withLeaf(composite(value)), 'certificate_malformed', 'nvidia/leaf')
  })

  test('whose leaf names firmware twice is refused', async () => {
    const extensions = [
      { oid: '2.23.133.5.4.1', value: compositeDeviceId(device, world.firmwareId) },
      { oid: '2.23.133.5.4.1.1', value: tcbInfo(world.firmwareId, 0) },
    ]
    const keyUsage = keyUsageBits.digitalSignature
    await refused(await withLeaf({ keyUsage, extensions }), 'chain_mismatch', 'nvidia/leaf')
  })

  test('that has expired is refused', () =>
    refused(good, 'certificate_expired', 'nvidia/chain/0/validity', {
      context: contextOf({ at: new Date('2040-01-01T00:00:00Z') }),
    }))

  test('of an unknown chip is refused', async () => {
    const unknown = await makeNvidiaWorld('TU102')
    const context = contextOf({ roots: unknown.roots })
    const evidence = await gpuEvidence(unknown)
    await refused(evidence, 'evidence_unsupported', 'nvidia/architecture', { context })
  })
})

test('a report can be authenticated on its own, without RIMs', async () => {
  const evidence = { ...good, rims: [] }
  const { claims } = await authenticateNvidiaReport(
    evidence,
    goodNonce,
    contextOf(),
    new Transcript(),
  )
  expect(claims.driverVersion).toBe('550.90.07')
  await refused(evidence, 'collateral_missing', 'nvidia/rim/driver')
})

test('one zero byte after the signature changes nothing', async () => {
  const report = await signReport(world, gpuReport(world))
  await authenticate(await gpuEvidence(world, { report: concatBytes(report, Uint8Array.of(0)) }))
})
