/** Flips bits of evidence one at a time and counts the verdicts: every flip must be refused or justified. */
import { AttestationError } from '../verdict.ts'

export type Part<Name extends string> = {
  readonly name: Name
  readonly bytes: Uint8Array
  /** Returns why this bit may change without a refusal; undefined if it may not. */
  readonly justify?: (offset: number, bit: number) => string | undefined
}

export type FlipReport = {
  flipped: number
  refused: number
  /** Refusals by code. */
  readonly codes: Map<string, number>
  /** Accepted flips by their justification. */
  readonly justified: Map<string, number>
  /** Accepted without justification, or failed with anything but a typed refusal. */
  readonly survivors: string[]
}

/**
 * Verifies with each chosen bit flipped. `every` is the distance between chosen bits: 1 is all of
 * them; a prime covers all eight bit positions of a byte.
 */
export async function flipBits<Name extends string>(
  parts: readonly Part<Name>[],
  verify: (part: Name, mutant: Uint8Array) => Promise<unknown>,
  every: number,
): Promise<FlipReport> {
  const report: FlipReport = {
    flipped: 0,
    refused: 0,
    codes: new Map(),
    justified: new Map(),
    survivors: [],
  }
  for (const part of parts) {
    for (let index = 0; index < part.bytes.length * 8; index += every) {
      const [offset, bit] = [index >>> 3, index & 7]
      const mutant = new Uint8Array(part.bytes)
      mutant[offset]! ^= 1 << bit
      const outcome = await outcomeOf(() => verify(part.name, mutant))
      count(report, part, { offset, bit, outcome })
    }
  }
  return report
}

type Outcome = { readonly code?: string; readonly crash?: unknown }

async function outcomeOf(verify: () => Promise<unknown>): Promise<Outcome> {
  try {
    await verify()
    return {}
  } catch (error) {
    return error instanceof AttestationError ? { code: error.code } : { crash: error }
  }
}

function count<Name extends string>(
  report: FlipReport,
  part: Part<Name>,
  { offset, bit, outcome }: { offset: number; bit: number; outcome: Outcome },
): void {
  report.flipped += 1
  if (outcome.code !== undefined) {
    report.refused += 1
    add(report.codes, outcome.code)
    return
  }
  const reason = 'crash' in outcome ? undefined : part.justify?.(offset, bit)
  if (reason !== undefined) add(report.justified, reason)
  else
    report.survivors.push(`${part.name} byte ${offset} bit ${bit}: ${outcome.crash ?? 'accepted'}`)
}

export const add = (counts: Map<string, number>, name: string): unknown =>
  counts.set(name, (counts.get(name) ?? 0) + 1)

/** For people: the counts, then whatever got through. */
export function formatFlipReport(title: string, report: FlipReport): string {
  const lines = [`${title}: ${report.flipped} bits flipped, ${report.refused} refused`]
  const rows = (counts: Map<string, number>) =>
    [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([name, n]) => `  ${String(n).padStart(7)} ${name}`)
  lines.push(...rows(report.codes))
  const free = report.flipped - report.refused - report.survivors.length
  lines.push(`  accepted with reason: ${free}`, ...rows(report.justified))
  lines.push(`  accepted without reason: ${report.survivors.length}`)
  return [...lines, ...report.survivors.slice(0, 20)].join('\n')
}
