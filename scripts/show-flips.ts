/** Prints what became of flipped bits, and ends with 1 where evidence with one of them was accepted. */
import { type FlipReport, formatFlipReport } from '../packages/attestation/src/testing/flip-bits.ts'

/** Every how many bits one is flipped, from the command line. */
export const every = Number(process.argv[2] ?? 1)

export async function showFlips(title: string, flipping: Promise<FlipReport>): Promise<void> {
  const report = await flipping
  console.log(formatFlipReport(title, report))
  if (report.survivors.length > 0) process.exitCode = 1
}
