import { describe, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { formatHex, parseBase64, parseHex } from '../bytes.ts'
import type { NvidiaGpuEvidence } from '../evidence.ts'
import { nvidiaContextAt, readNvidiaEvidence } from '../testing/nvidia-vectors.ts'
import { readVectorText } from '../testing/vectors.ts'
import { Transcript } from '../verdict.ts'
import {
  authenticateNvidiaGpu,
  authenticateNvidiaReport,
  compareNvidiaRims,
} from './authenticate-nvidia.ts'
import type { NvidiaReportClaims } from './claims.ts'

type SdkEvidence = { arch: string; evidence: string; certificate: string; nonce: string }
const readSdkEvidence = (name: string): { evidence: NvidiaGpuEvidence; nonce: Uint8Array } => {
  const text = readVectorText(`nvidia/attestation-sdk/${name}.json`)
  const [item] = JSON.parse(text) as SdkEvidence[]
  const certificate = new TextDecoder().decode(parseBase64(item!.certificate)!)
  return {
    evidence: {
      kind: 'nvidia-gpu',
      report: item!.evidence,
      certificate_chain: certificate,
      rims: [],
      ocsp: [],
    },
    nonce: parseHex(item!.nonce)!,
  }
}

const gpu = 'attestation-sdk/gpu/'
const device = 'attestation-sdk/switch/'
const hopper = [`${gpu}hopperAttestationReport.txt`, `${gpu}hopperCertChain.txt`] as const
const lsTen = [`${device}switchAttestationReport.txt`, `${device}switchCertChain.txt`] as const
const switchRim = 'rims/switchVBIOSRim_NV_SWITCH_BIOS_5612_0002_890_9610550001.xml'
const vbiosRim = 'nvtrust/1010_0200_882_96005E0001_PROD.swidtag'

describe('real evidence', () => {
  test('of an LS10 switch with its RIM is authentic in full', async () => {
    const transcript = new Transcript()
    const evidence = readNvidiaEvidence(...lsTen, [switchRim])
    const claims = await authenticateNvidiaGpu(
      evidence,
      undefined,
      nvidiaContextAt('2026-08-01'),
      transcript,
    )
    expect(claims).toMatchObject({ device: 'switch', vbiosVersion: '96.10.55.00.01' })
    expect(transcript.checks).toContainEqual({
      id: 'nvidia/rim/vbios/measurements',
      result: 'passed',
      detail: '31 measurements as published',
    })
  })

  test('of a Hopper GPU matches the published VBIOS, and still needs the driver RIM', async () => {
    const evidence = readNvidiaEvidence(...hopper, [vbiosRim])
    const context = nvidiaContextAt('2024-06-01')
    const nonce = parseHex('27a328247bf7935c993341cf587be6f05986ccce4fe7ba2c54100bd616a58f66')
    const report = await authenticateNvidiaReport(evidence, nonce, context, new Transcript())
    expect(report.claims).toMatchObject({
      driverVersion: '535.86.09',
      vbiosVersion: '96.00.5E.00.01',
    })
    const transcript = new Transcript()
    const matched = await compareNvidiaRims(report, evidence, context, transcript)
    expect([...matched]).toEqual(['vbios'])
    expect(transcript.checks.at(-1)?.detail).toBe('12 measurements as published')
    expect(
      await rejection(authenticateNvidiaGpu(evidence, nonce, context, new Transcript())),
    ).toMatchObject({ code: 'collateral_missing' })
  })

  const report = (
    evidence: NvidiaGpuEvidence,
    nonce?: Uint8Array,
  ): Promise<{ claims: NvidiaReportClaims }> =>
    authenticateNvidiaReport(evidence, nonce, nvidiaContextAt('2026-08-01'), new Transcript())

  test.each([
    [hopper[0], hopper[1], '535.86.09'],
    [`${gpu}hopperAttestationReportExpired.txt`, `${gpu}hopperCertChainExpired.txt`, '570.124.03'],
    ['nvtrust/hopperAttestationReport.txt', 'nvtrust/hopperCertChain.txt', '550.90.07'],
    ['coco/hopper_coco_report1.txt', 'coco/hopper_coco_certs1.txt', '580.95.05'],
  ])('%s has a valid signature and chain', async (file, chain, driverVersion) => {
    const { claims } = await report(readNvidiaEvidence(file, chain))
    expect(claims).toMatchObject({ architecture: 'hopper', driverVersion })
  })

  test.each([
    ['hopper_evidence', '590.12'],
    ['evidence_hopper_590_12', '590.12'],
    ['hopper_evidence_cert_hold', '570.86.10'],
    ['switch_evidence_ls10', undefined],
  ])('%s is for the nonce it names', async (name, driverVersion) => {
    const { evidence, nonce } = readSdkEvidence(name)
    const { claims } = await report(evidence, nonce)
    expect(claims.driverVersion).toBe(driverVersion)
    expect(claims.nonce).toBe(formatHex(nonce))
    const wrong = report(evidence, new Uint8Array(32))
    expect(await rejection(wrong)).toMatchObject({ code: 'nonce_mismatch' })
  })

  test('without an OCSP response is refused if unknown is not tolerated', async () => {
    const context = nvidiaContextAt('2026-08-01', false)
    const attempt = authenticateNvidiaReport(
      readNvidiaEvidence(...lsTen),
      undefined,
      context,
      new Transcript(),
    )
    expect(await rejection(attempt)).toMatchObject({ code: 'revocation_unknown' })
  })

  const coco = 'coco/hopper_coco_report1.txt'
  test.each([
    [`${gpu}hopperAttestationReportInvalidSignature.txt`, hopper[1], 'signature_invalid'],
    [`${device}switchAttestationReportInvalidSignature.txt`, lsTen[1], 'signature_invalid'],
    [hopper[0], lsTen[1], 'signature_invalid'],
    [coco, 'coco/hopper_cert_chain_case2.txt', 'chain_mismatch'],
    [coco, 'coco/hopper_cert_chain_case3.txt', 'chain_mismatch'],
    [coco, 'coco/hopper_cert_chain_case4.txt', 'chain_mismatch'],
  ])('%s with %s is refused: %s', async (file, chain, code) => {
    expect(await rejection(report(readNvidiaEvidence(file, chain)))).toMatchObject({ code })
  })

  const expired = [
    `${gpu}hopperAttestationReportExpired.txt`,
    `${gpu}hopperCertChainExpired.txt`,
  ] as const
  const nvtrust = ['nvtrust/hopperAttestationReport.txt', 'nvtrust/hopperCertChain.txt'] as const
  type Case = [rim: string, at: string, code: string, files: readonly [string, string]]
  test.each<Case>([
    [
      'rims/NV_GPU_VBIOS_1010_0200_882_96005E0001_measurement_mismatch.xml',
      '2024-06-01',
      'measurement_mismatch',
      hopper,
    ],
    [
      'rims/NV_GPU_DRIVER_GH100_535.86.09_measurement_mismatch.xml',
      '2026-06-01',
      'collateral_invalid',
      hopper,
    ],
    [vbiosRim, '2025-07-01', 'certificate_expired', hopper],
    [
      'rims/NV_GPU_DRIVER_GH100_570.124.03_expired.xml',
      '2025-06-01',
      'certificate_expired',
      expired,
    ],
    [
      'rims/NV_GPU_DRIVER_GH100_570.124.03_expired.xml',
      '2025-01-01T12:00:00Z',
      'collateral_invalid',
      expired,
    ],
    ['rims/NV_GPU_DRIVER_GH100_550.144.03.xml', '2026-06-01', 'collateral_mismatch', nvtrust],
    ['rims/incorrect_signature_driver_rim.xml', '2026-06-01', 'collateral_invalid', nvtrust],
    ['rims/incorrect_cert_chain_driver_rim.xml', '2026-06-01', 'chain_untrusted', nvtrust],
    ['nvtrust/Driver_RIM_test_no_gpu.swidtag', '2024-06-01', 'collateral_mismatch', nvtrust],
    [
      'nvtrust/1010_0200_882_96005E0001_test_no_gpu.swidtag',
      '2024-06-01',
      'collateral_mismatch',
      nvtrust,
    ],
    [
      'rims/NV_SWITCH_BIOS_5612_0002_890_9610550001_invalid_signature.xml',
      '2025-06-01',
      'collateral_invalid',
      lsTen,
    ],
    [switchRim, '2028-06-01', 'certificate_expired', lsTen],
  ])('%s at %s is refused: %s', async (rim, at, code, files) => {
    const evidence = readNvidiaEvidence(...files, [rim])
    const attempt = authenticateNvidiaGpu(
      evidence,
      undefined,
      nvidiaContextAt(at),
      new Transcript(),
    )
    expect(await rejection(attempt)).toMatchObject({ code })
  })
})
