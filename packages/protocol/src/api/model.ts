/** The model object: one body that clients of both dialects can parse. */

export type ModelTask = 'generate' | 'embed'

export type InputModality = 'text' | 'image'

/** A model as `GET /v1/models` returns it; clients of both dialects can parse it. */
export type ModelObject = {
  readonly id: string
  readonly object: 'model'
  readonly created: number
  readonly owned_by: string
  readonly type: 'model'
  readonly display_name: string
  readonly created_at: string
  readonly tasks: readonly ModelTask[]
  readonly context_length?: number
  /** As the worker's engine reports it; absent where only the manifest is known. */
  readonly input_modalities?: readonly InputModality[]
}

export type ModelFacts = {
  readonly id: string
  readonly created: number
  readonly displayName: string
  readonly tasks: readonly ModelTask[]
  readonly contextLength?: number
}

/**
 * The maximum length of a model's name: a sealed request states it in one byte. Manifests allow
 * less (200), so what clients verified always fits.
 */
export const maxModelNameLength = 255

/** Deprecated alias for the newest model of a task. */
export const latestModelName = 'latest'

export function formatModel(facts: ModelFacts, ownedBy = 'privatemode'): ModelObject {
  return {
    id: facts.id,
    object: 'model',
    created: facts.created,
    owned_by: ownedBy,
    type: 'model',
    display_name: facts.displayName,
    created_at: new Date(facts.created * 1000).toISOString().replace('.000Z', 'Z'),
    tasks: [...facts.tasks],
    ...(facts.contextLength === undefined ? {} : { context_length: facts.contextLength }),
  }
}

export type ModelList = {
  object: 'list'
  data: readonly ModelObject[]
  has_more: false
  first_id: string | null
  last_id: string | null
}

export function formatModelList(models: readonly ModelObject[]): ModelList {
  return {
    object: 'list',
    data: models,
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }
}

/**
 * Parses a model object from a directory, which is an untrusted hint; undefined if it is not valid.
 */
export function parseModel(value: unknown): ModelObject | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { id, created, display_name, owned_by, tasks, context_length, input_modalities } =
    value as ModelWire
  if (typeof id !== 'string' || id === '' || id.length > maxModelNameLength) return undefined
  if (!isCount(created) || created > 8_640_000_000_000) return undefined
  if (!Array.isArray(tasks) || tasks.length === 0 || !tasks.every(isTask)) return undefined
  const facts = {
    id,
    created,
    displayName: typeof display_name === 'string' ? display_name.slice(0, 256) : id,
    tasks: [...new Set(tasks)],
    ...(isCount(context_length) ? { contextLength: context_length } : {}),
  }
  const model = formatModel(
    facts,
    typeof owned_by === 'string' ? owned_by.slice(0, 256) : undefined,
  )
  if (!Array.isArray(input_modalities)) return model
  return { ...model, input_modalities: modalities.filter((one) => input_modalities.includes(one)) }
}

/**
 * Finds a model by its name. As in Ollama, whose model lists have a tag on every name, a name without
 * a tag also means its tag `latest`; a model of exactly that name takes precedence.
 */
export function findModel<M extends { readonly id: string }>(
  models: readonly M[],
  name: string,
): M | undefined {
  const exact = models.find(({ id }) => id === name)
  if (exact !== undefined || name.includes(':')) return exact
  return models.find(({ id }) => id === `${name}:latest`)
}

/**
 * Resolves `latest` to the newest model of the task; models of the same age are ordered by name.
 */
export function resolveLatest<M extends Pick<ModelFacts, 'id' | 'created' | 'tasks'>>(
  models: readonly M[],
  task: ModelTask,
): M | undefined {
  return models
    .filter((model) => model.tasks.includes(task))
    .toSorted((a, b) => b.created - a.created || (a.id < b.id ? -1 : 1))[0]
}

type ModelWire = { [field in keyof ModelObject]?: unknown }

const modalities: readonly InputModality[] = ['text', 'image']

const isTask = (value: unknown): value is ModelTask => value === 'generate' || value === 'embed'

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
