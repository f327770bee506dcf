/** Orders a request's candidates: whom to ask first, and whom if that one does not answer. */
import type { ViewedWorker } from './worker-view.ts'

/** A candidate must be this much less loaded (share of capacity) to win over the client's order. */
const margin = 0.1

/**
 * Power of two choices among the live candidates, with a bias: the client puts the worker first
 * that has the conversation's cache warm, and that is worth more than a little load. `random` is in
 * [0, 1).
 */
export function orderCandidates(
  candidates: readonly ViewedWorker[],
  nowMs: number,
  random: () => number,
): ViewedWorker[] {
  // Most requests name few workers, and often one.
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

/** How many more requests it can take. */
export function capacityLeft(entry: ViewedWorker): number {
  return entry.worker.capacity - activeAt(entry)
}

/** The worker's last report, corrected by what we did since. */
function activeAt({ worker, shares, inFlightAtReport }: ViewedWorker): number {
  return Math.max(worker.active + shares.total - inFlightAtReport, shares.total)
}
