/** Prints the results of flipped bits, and exits with 1 if evidence with one of them was accepted. */
import { type FlipReport, formatFlipReport } from '../packages/attestation/src/testing/flip-bits.ts'

/** The interval between flipped bits, from the command line. */
export const every = Number(process.argv[2] ?? 1)

export async function showFlips(title: string, flipping: Promise<FlipReport>): Promise<void> {
  const report = await flipping
  console.log(formatFlipReport(title, report))
  if (report.survivors.length > 0) process.exitCode = 1
}
