/** Which bits of NVIDIA evidence may change without a refusal, and why; all others must not. */
import { formatBase64, parseBase64, utf8 } from '../bytes.ts'
import type { AuthenticityContext, NvidiaGpuEvidence } from '../evidence.ts'
import {
  authenticateNvidiaGpu,
  authenticateNvidiaReport,
  compareNvidiaRims,
} from '../nvidia/authenticate-nvidia.ts'
import { Transcript } from '../verdict.ts'
import { type FlipReport, flipBits, type Part } from './flip-bits.ts'
import { justifyPem } from './tdx-mutations.ts'

type Name = 'report' | 'certificate_chain' | `rim ${number}` | `ocsp ${number}`

/**
 * The evidence must be authentic unmodified. RIM mutants start after the report, which they do not
 * touch: the verifier's steps are the same, and there are many mutants.
 */
export async function mutateNvidia(
  evidence: NvidiaGpuEvidence,
  nonce: Uint8Array,
  context: AuthenticityContext,
  every: number,
): Promise<FlipReport> {
  await authenticateNvidiaGpu(evidence, nonce, context, new Transcript())
  const report = await authenticateNvidiaReport(evidence, nonce, context, new Transcript())
  const verify = async (name: Name, mutant: Uint8Array): Promise<void> => {
    const changed = replacePart(evidence, name, mutant)
    if (name.startsWith('rim')) await compareNvidiaRims(report, changed, context, new Transcript())
    else await authenticateNvidiaGpu(changed, nonce, context, new Transcript())
  }
  return flipBits(partsOf(evidence), verify, every)
}

function partsOf(evidence: NvidiaGpuEvidence): Part<Name>[] {
  const pem = utf8(evidence.certificate_chain)
  return [
    // A zero byte that terminates the report must not become anything else, so nothing is exempt.
    { name: 'report', bytes: parseBase64(evidence.report)! },
    { name: 'certificate_chain', bytes: pem, justify: justifyPem(pem) },
    // The RIM reader leaves no slack: what is not signed must have one exact form.
    ...evidence.rims.map(
      (rim, index): Part<Name> => ({ name: `rim ${index}`, bytes: parseBase64(rim)! }),
    ),
    ...evidence.ocsp.map(
      (answer, index): Part<Name> => ({ name: `ocsp ${index}`, bytes: parseBase64(answer)! }),
    ),
  ]
}

function replacePart(
  evidence: NvidiaGpuEvidence,
  name: Name,
  mutant: Uint8Array,
): NvidiaGpuEvidence {
  if (name === 'report') return { ...evidence, report: formatBase64(mutant) }
  if (name === 'certificate_chain') {
    // Latin-1 maps one byte to one character, so bytes that are not UTF-8 remain a change.
    return { ...evidence, certificate_chain: Buffer.from(mutant).toString('latin1') }
  }
  const index = Number(name.split(' ')[1])
  if (name.startsWith('ocsp')) {
    return { ...evidence, ocsp: evidence.ocsp.with(index, formatBase64(mutant)) }
  }
  // The mutant comes first, so that the others need not be verified before it.
  const others = evidence.rims.filter((_, position) => position !== index)
  return { ...evidence, rims: [formatBase64(mutant), ...others] }
}
