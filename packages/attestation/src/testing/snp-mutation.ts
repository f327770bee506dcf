/** Flips bits of valid SEV-SNP evidence, one at a time, and counts what is refused. */
import { formatBase64, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, SnpEvidence } from '../evidence.ts'
import { authenticateSnp } from '../snp/authenticate.ts'
import { AttestationError, Transcript } from '../verdict.ts'

export type MutationScore = {
  readonly flips: number
  readonly refused: number
  /** Refusals by code. */
  readonly codes: Readonly<Record<string, number>>
  /** Where a flip was not refused, or ended in anything but a typed refusal. */
  readonly survivors: readonly string[]
}

/**
 * Every `stride`-th bit of the report, of each certificate and of each list; a stride of 1 is the
 * full form. All of these bits are covered: by a signature, by a pinned digest, or by the demand
 * that they be zero or say what the signed part says.
 */
export async function mutateSnp(
  evidence: SnpEvidence,
  context: AuthenticityContext,
  stride = 1,
): Promise<MutationScore> {
  const codes: Record<string, number> = {}
  const survivors: string[] = []
  let flips = 0
  for (const { name, base64, rebuild } of partsOf(evidence)) {
    const bytes = parseBase64(base64)!
    for (let bit = 0; bit < bytes.length * 8; bit += stride) {
      const flipped = Uint8Array.from(bytes)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      flips++
      const code = await refusalOf(rebuild(formatBase64(flipped)), context)
      if (code === undefined) survivors.push(`${name} bit ${bit}`)
      else codes[code] = (codes[code] ?? 0) + 1
    }
  }
  return { flips, refused: flips - survivors.length, codes, survivors }
}

export function formatScore(name: string, { flips, refused, codes }: MutationScore): string {
  const byCode = Object.entries(codes)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${count}`)
  return `${name}: ${refused} of ${flips} flipped bits refused (${byCode.join(', ')})`
}

function* partsOf(evidence: SnpEvidence) {
  yield {
    name: 'report',
    base64: evidence.report,
    rebuild: (report: string): SnpEvidence => ({ ...evidence, report }),
  }
  for (const list of ['certificates', 'crls'] as const) {
    for (const [index, base64] of evidence[list].entries()) {
      const rebuild = (changed: string): SnpEvidence => ({
        ...evidence,
        [list]: evidence[list].with(index, changed),
      })
      yield { name: `${list}[${index}]`, base64, rebuild }
    }
  }
}

async function refusalOf(
  evidence: SnpEvidence,
  context: AuthenticityContext,
): Promise<string | undefined> {
  try {
    await authenticateSnp(evidence, context, new Transcript())
    return undefined
  } catch (error) {
    return error instanceof AttestationError ? error.code : undefined
  }
}
