/** Finds how many requests a second the system answers at the most. */
import type { Load } from '../faults/load/load.ts'

const stepMs = 8_000
const steps = [4, 8, 16, 32, 64]

/** More and more requests at once, until more of them are not answered faster. */
export async function findCapacity(load: Load, say: (line: string) => void): Promise<number> {
  let best = 0
  await measure(load, 4, stepMs / 2) // warm
  for (const atOnce of steps) {
    const rate = await measure(load, atOnce, stepMs)
    say(`${atOnce} at once: ${rate.toFixed(1)} right answers/s`)
    if (rate < best * 1.05) return Math.max(best, rate)
    best = rate
  }
  return best
}

async function measure(load: Load, atOnce: number, lengthMs: number): Promise<number> {
  load.takeTally()
  const startedMs = performance.now()
  const one = async () => {
    while (performance.now() - startedMs < lengthMs) await load.ask()
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return (load.takeTally().right / (performance.now() - startedMs)) * 1000
}
