/** Selects which of a request's candidates can be tried, best first. */
import { ApiError } from '@privatemode/protocol/api'
import { orderCandidates } from '../registry/choose-worker.ts'
import type { ViewedWorker, WorkerView } from '../registry/worker-view.ts'
import type { SealedHead } from './sealed-head.ts'

export type CandidateParts = {
  readonly view: WorkerView
  readonly random: () => number
}

export function findCandidates(
  sealed: SealedHead,
  nowMs: number,
  parts: CandidateParts,
): ViewedWorker[] {
  const able: ViewedWorker[] = []
  let live = 0
  for (const id of sealed.workerIds) {
    const entry = parts.view.find(id)
    if (entry === undefined) continue
    live++
    if (hasModel(entry, sealed.model)) able.push(entry)
  }
  if (live === 0) {
    const message = 'none of the named workers is available; fetch the directory again'
    throw new ApiError('worker_unknown', message)
  }
  if (able.length === 0) {
    throw new ApiError('model_not_found', 'the named workers do not serve this model', {
      param: 'model',
    })
  }
  const ordered = orderCandidates(able, nowMs, parts.random)
  if (ordered.length === 0) {
    throw new ApiError('no_worker', 'the named workers are being drained', { retryAfterSeconds: 1 })
  }
  return ordered
}

function hasModel({ worker }: ViewedWorker, model: string): boolean {
  for (const { id } of worker.models) if (id === model) return true
  return false
}
