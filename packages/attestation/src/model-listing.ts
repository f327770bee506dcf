/** A model as listed in statements and manifests: its name, the digest of its weights, its capabilities. */
import type { Fields } from './fields.ts'

export type ModelTask = 'generate' | 'embed'

/** A model that a worker may serve, as the manifest lists it. */
export type ModelListing = {
  readonly id: string
  /** Of the weights: `sha256:` and 64 hex digits. */
  readonly digest: string
  readonly tasks: readonly ModelTask[]
  readonly contextLength: number
  readonly displayName: string
  /** Seconds since 1970, as in `GET /v1/models`. */
  readonly created: number
}

/** The maximum number of models in one statement or manifest. */
export const maxModels = 64

export function readModels(fields: Fields, name: string): readonly ModelListing[] {
  const models = fields.objects(name, { min: 0, max: maxModels }, readModel)
  for (const [index, { id }] of models.entries()) {
    if (models.findIndex((other) => other.id === id) !== index) {
      fields.refuse(name, `model ${JSON.stringify(id)} occurs twice`)
    }
  }
  return models
}

/** The wire form, with its members in canonical order. */
export function formatModelListing(model: ModelListing) {
  return {
    id: model.id,
    digest: model.digest,
    tasks: model.tasks,
    context_length: model.contextLength,
    display_name: model.displayName,
    created: model.created,
  }
}

function readModel(fields: Fields): ModelListing {
  return {
    // Shorter than a sealed request allows (255), so every listed name can be sealed.
    id: fields.matching('id', /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$/, 'a model name'),
    digest: fields.matching('digest', /^sha256:[0-9a-f]{64}$/, 'sha256: and 64 hex digits'),
    tasks: readTasks(fields),
    contextLength: fields.integer('context_length', { min: 1, max: 100_000_000 }),
    displayName: fields.text('display_name', 200),
    created: fields.integer('created'),
  }
}

function readTasks(fields: Fields): readonly ModelTask[] {
  const tasks = fields.array('tasks', { min: 1, max: 2 }, (task): ModelTask => {
    if (task === 'generate' || task === 'embed') return task
    return fields.refuse('tasks', 'expected generate or embed')
  })
  if (new Set(tasks).size !== tasks.length) fields.refuse('tasks', 'a task occurs twice')
  return tasks
}
