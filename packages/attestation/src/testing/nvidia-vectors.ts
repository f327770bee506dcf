/** Reads NVIDIA evidence from the real-hardware vectors. */
import { type Bytes, formatBase64, parseHex } from '../bytes.ts'
import type { AuthenticityContext, NvidiaGpuEvidence } from '../evidence.ts'
import { vendorRoots } from '../roots.ts'
import { readVector, readVectorText } from './vectors.ts'

/** `rims` are paths too; all are below `nvidia/`. */
export const readNvidiaEvidence = (
  report: string,
  chain: string,
  rims: readonly string[] = [],
): NvidiaGpuEvidence => ({
  kind: 'nvidia-gpu',
  report: formatBase64(parseHex(readVectorText(`nvidia/${report}`).trim())!),
  certificate_chain: readVectorText(`nvidia/${chain}`),
  rims: rims.map((rim) => formatBase64(readVector(`nvidia/${rim}`))),
  ocsp: [],
})

/** OCSP responses of that time were not kept, so revocation is unknown here. */
export const nvidiaContextAt = (at: string, allowUnknown = true): AuthenticityContext => ({
  roots: vendorRoots,
  revocation: { allowUnknown, revokedGraceHours: 0 },
  at: new Date(at),
})

/** The one vector that has everything: an LS10 switch with its RIM. */
export const readSwitchVector = (): {
  evidence: NvidiaGpuEvidence
  nonce: Bytes
  context: AuthenticityContext
} => ({
  evidence: readNvidiaEvidence(
    'attestation-sdk/switch/switchAttestationReport.txt',
    'attestation-sdk/switch/switchCertChain.txt',
    ['rims/switchVBIOSRim_NV_SWITCH_BIOS_5612_0002_890_9610550001.xml'],
  ),
  nonce: parseHex('931d8dd0add203ac3d8b4fbde75e115278eefcdceac5b87671a748f32364dfcb')!,
  context: nvidiaContextAt('2026-08-01'),
})
