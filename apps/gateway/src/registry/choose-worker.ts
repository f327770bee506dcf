/** Orders a request's candidates: which worker to try first, and which ones after it. */
import type { ViewedWorker } from './worker-view.ts'

/** A candidate must be less loaded by this share of its capacity to override the client's order. */
const margin = 0.1

/**
 * Power of two choices among the live candidates, with a bias: the client lists the worker first
 * that has the conversation's cache warm, which outweighs a little load. `random` is in [0, 1).
 */
export function orderCandidates(
  candidates: readonly ViewedWorker[],
  nowMs: number,
  random: () => number,
): ViewedWorker[] {
  // Most requests name few workers, often just one.
  const [only] = candidates
  if (candidates.length === 1 && only !== undefined) return only.worker.draining ? [] : [only]
  const usable = candidates.filter((entry) => !entry.worker.draining)
  const healthy = usable.filter((entry) => entry.suspectUntilMs <= nowMs)
  const suspects = usable.filter((entry) => entry.suspectUntilMs > nowMs)
  const [preferred, ...others] = healthy
  const rival = others[Math.floor(random() * others.length)]
  if (preferred === undefined || rival === undefined) return [...healthy, ...suspects]
  const first = loadOf(rival) + margin < loadOf(preferred) ? rival : preferred
  return [first, ...healthy.filter((entry) => entry !== first), ...suspects]
}

/** Share of the capacity in use. */
export function loadOf(entry: ViewedWorker): number {
  return activeAt(entry) / Math.max(1, entry.worker.capacity)
}

/** How many more requests it can accept. */
export function capacityLeft(entry: ViewedWorker): number {
  return entry.worker.capacity - activeAt(entry)
}

/** The worker's last report, corrected by our own requests since. */
function activeAt({ worker, shares, inFlightAtReport }: ViewedWorker): number {
  return Math.max(worker.active + shares.total - inFlightAtReport, shares.total)
}
