/** Which of Intel's TCB recoveries a new manifest requires, if its rules do not specify it. */

import type { Manifest, Rule } from '@privatemode/attestation'
import { parseTcbInfo } from '@privatemode/attestation/collateral'
import { UsageError } from '../command.ts'
import { readPieces } from '../files/read-pieces.ts'
import { readBytes } from './read-manifest.ts'

/**
 * The `tcbEvaluationDataNumber` of the documents that Intel's service returned by default on 29
 * June 2026. It only increases; documents with a lower number have expired since.
 */
export const knownTcbEvaluation = 19

/** The highest number known to this program, the previous manifest, and Intel's documents. */
export async function chooseTcbEvaluation(
  previous: Manifest | undefined,
  documents: readonly string[],
): Promise<number> {
  const told = await Promise.all(documents.map(readTcbEvaluation))
  return Math.max(knownTcbEvaluation, ...earlierMinimums(previous), ...told)
}

/** Adds the minimum to `tdx` rules without one; everything else stays unchanged. */
export function withTcbEvaluation(rules: unknown, minimum: number): unknown {
  if (!Array.isArray(rules)) return rules
  return rules.map((rule: unknown) => {
    const { kind, min_tcb_evaluation_data_number: given } = Object(rule) as Record<string, unknown>
    if (kind !== 'tdx' || given !== undefined) return rule
    return { ...Object(rule), min_tcb_evaluation_data_number: minimum }
  })
}

function earlierMinimums(previous: Manifest | undefined): number[] {
  const rules: readonly Rule[] = [
    ...(previous?.roles.worker.accept ?? []),
    ...(previous?.roles.proxyless?.accept ?? []),
  ]
  return rules.flatMap((one) =>
    one.kind === 'tdx' ? (one.rule.minTcbEvaluationDataNumber ?? []) : [],
  )
}

/** Not verified: the number can only make the requirement stricter. */
async function readTcbEvaluation(path: string): Promise<number> {
  const numbers = readPieces(await readBytes(path)).flatMap((piece) =>
    piece.kind === 'tcb-info'
      ? [parseTcbInfo(new TextEncoder().encode(piece.document.text)).evaluationDataNumber]
      : [],
  )
  if (numbers.length === 0) throw new UsageError(`${path} contains no TCB info from Intel`)
  return Math.max(...numbers)
}
