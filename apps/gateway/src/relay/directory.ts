/** `GET /privatemode/v1/directory`: the available workers and models, as a hint to clients. */
import type { ModelObject } from '@privatemode/protocol/api'
import type { Directory } from '@privatemode/protocol/fleet'
import type { LiveWorker } from '../registry/worker-store.ts'

/** Draining workers are left out: no session should begin there. */
export function listDirectory(live: readonly LiveWorker[]): Directory {
  const taking = live.filter((worker) => !worker.draining)
  const models = new Map<string, ModelObject>()
  for (const model of taking.flatMap((worker) => worker.models)) {
    if (!models.has(model.id)) models.set(model.id, model)
  }
  return {
    workers: taking.map((worker) => ({
      id: worker.id,
      models: worker.models.map((model) => model.id),
      seal_key_id: worker.sealKeyId,
    })),
    models: [...models.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  }
}
