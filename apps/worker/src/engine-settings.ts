/** The flags for models and engines, and the file that lists models. */
import type { CallShares } from '@privatemode/inference/metered-engine'
import {
  FairShare,
  type FlagTable,
  type FlagValues,
  readNamedFile,
  type Secret,
} from '@privatemode/service'
import { WorkerError } from './worker-error.ts'

/** One model file for the embedded engine. */
export type ModelFile = {
  readonly id: string
  readonly path: string
  readonly task: 'generate' | 'embed'
  readonly displayName?: string
  /** Lower-case hex; a file with a different digest is refused. */
  readonly sha256?: string
  /** Lower-case hex: the root hash of the verity volume that the file must be on; also the model's digest. */
  readonly verityRoot?: string
  /** Prompt and answer tokens combined. */
  readonly contextLength?: number
  /** Requests computed in parallel. */
  readonly sequences?: number
  /** Defaults for requests without sampling parameters. */
  readonly sampling?: { readonly temperature?: number; readonly repetitionPenalty?: number }
}

export type EngineChoice =
  | {
      readonly kind: 'embedded'
      readonly models: readonly ModelFile[]
      /** Shared by all models; `undefined` leaves one core free. */
      readonly threads: number | undefined
      readonly promptCacheBytes: number
      readonly maxWaiting: number
    }
  | {
      readonly kind: 'http'
      readonly url: string
      /** All models that the server may have, if their weights are bound to volumes. */
      readonly served: readonly ModelFile[] | undefined
      readonly waitSeconds: number
      readonly apiKey: Secret | undefined
      readonly acceptSharedCache: boolean
      readonly translateDialects: boolean
      readonly maxConcurrent: number
    }

const group = 'Models'

export const engineFlags = {
  modelsFile: {
    type: 'string',
    help: 'JSON list of GGUF files to run in this process: [{"id","path","task":"generate"|"embed"}]; docs/engines.md has the other fields. With engineUrl, all models of that server, each with the verity_root of its weights',
    group,
  },
  engineThreads: {
    type: 'integer',
    default: 0,
    max: 1024,
    help: 'threads shared by all models in this process; 0 leaves one core free',
    group,
  },
  promptCacheMib: {
    type: 'integer',
    default: 128,
    max: 1024 * 1024,
    help: 'memory for the prompt caches of all models in this process, in addition to their contexts; 0 disables caching',
    group,
  },
  maxWaiting: {
    type: 'integer',
    default: 64,
    max: 65_536,
    help: 'requests that may queue for each model in this process; more get 503',
    group,
  },
  engineUrl: {
    type: 'string',
    help: 'OpenAI-compatible model server to use instead, such as http://127.0.0.1:8000 or unix:/run/server.sock',
    group,
  },
  engineWaitSeconds: {
    type: 'integer',
    default: 0,
    max: 86_400,
    help: 'how long to wait at startup for a model server that is not ready yet',
    group,
  },
  engineKey: { type: 'secret', help: 'API key of the model server, or @path', group },
  engineRequests: {
    type: 'integer',
    default: 256,
    min: 1,
    max: 16_000,
    help: 'concurrent requests to the model server; more get 503',
    group,
  },
  acceptSharedCache: {
    type: 'boolean',
    default: false,
    help: 'use a model server that cannot isolate the prompt caches of its callers',
    group,
  },
  translateDialects: {
    type: 'boolean',
    default: false,
    help: 'translate messages and responses to chat even if the model server supports them natively',
    group,
  },
} as const satisfies FlagTable

export function readEngineSettings(values: FlagValues<typeof engineFlags>): EngineChoice {
  const { modelsFile, engineUrl: url, engineKey: apiKey } = values
  const models = modelsFile === undefined ? undefined : readModelsFile(modelsFile)
  if (url !== undefined) {
    if (!/^(https?:|unix:\/[^/])/.test(URL.parse(url)?.href ?? ''))
      throw invalid(`engineUrl is "${url}", expected an address such as http://127.0.0.1:8000`)
    const { acceptSharedCache, translateDialects, engineRequests, engineWaitSeconds } = values
    const limits = { maxConcurrent: engineRequests, waitSeconds: engineWaitSeconds }
    const given = { served: models, acceptSharedCache, translateDialects, ...limits }
    return { kind: 'http', url, apiKey, ...given }
  }
  if (models === undefined)
    throw invalid('set --modelsFile (embedded engine) or --engineUrl (model server)')
  return {
    kind: 'embedded',
    models,
    threads: values.engineThreads === 0 ? undefined : values.engineThreads,
    promptCacheBytes: values.promptCacheMib * 1024 * 1024,
    maxWaiting: values.maxWaiting,
  }
}

/** With its padding, a stream stays open about this many times as long as it generates. */
const streamsPerGeneration = 4

/**
 * How many requests the gateway may have open here. Most of them are sending padding, which the
 * gateway must not learn; the engine itself refuses what exceeds its capacity.
 */
export function workerCapacity(maxRequests: number, choice: EngineChoice): number {
  return Math.min(maxRequests, streamsPerGeneration * engineCapacity(choice))
}

/**
 * Limits each caller's share of the engine. The gateway cannot do this: it does not know which open
 * requests are still at the engine and which only send padding.
 */
export function engineShares(choice: EngineChoice, percent: number): CallShares {
  const shares = new FairShare()
  const places = engineCapacity(choice)
  return {
    take: (caller) => shares.take(caller, places - shares.total, percent),
    putBack: (caller) => shares.putBack(caller),
  }
}

/** Concurrent requests that any one model of the engine accepts before refusing more. */
function engineCapacity(choice: EngineChoice): number {
  switch (choice.kind) {
    case 'embedded':
      return choice.maxWaiting + 1
    case 'http':
      return choice.maxConcurrent
  }
}

function readModelsFile(path: string): ModelFile[] {
  const bytes = readNamedFile('--modelsFile', path)
  let json: unknown
  try {
    json = JSON.parse(bytes.toString())
  } catch (cause) {
    throw invalid(`the models file ${path} is not valid JSON`, cause)
  }
  if (!Array.isArray(json) || json.length === 0)
    throw invalid(`the models file ${path} must be a list with at least one model`)
  return json.map((entry: unknown, index) =>
    readModel((entry ?? {}) as Fields, `model ${index} of ${path}`),
  )
}

type Fields = { readonly [field: string]: unknown }

const knownFields: ReadonlySet<string> = new Set([
  ...['id', 'path', 'task', 'display_name', 'sha256', 'verity_root'],
  ...['context_length', 'sequences', 'sampling'],
])

function readModel(fields: Fields, which: string): ModelFile {
  const { id, path, task, display_name } = fields
  const isNamed = typeof id === 'string' && typeof path === 'string'
  if (!isNamed || (task !== 'generate' && task !== 'embed'))
    throw invalid(`${which} needs id, path and task (generate or embed)`)
  // A misspelt digest field would pin nothing, unnoticed.
  const unknown = Object.keys(fields).find((field) => !knownFields.has(field))
  if (unknown !== undefined) throw invalid(`${which} has an unknown field ${unknown}`)
  const sha256 = readHash(fields, 'sha256', which)
  const verityRoot = readHash(fields, 'verity_root', which)
  if (sha256 !== undefined && verityRoot !== undefined)
    throw invalid(`${which} has both sha256 and verity_root`)
  const contextLength = readCount(fields, 'context_length', which)
  const sequences = readCount(fields, 'sequences', which)
  return {
    id,
    path,
    task,
    ...(typeof display_name === 'string' ? { displayName: display_name } : {}),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(verityRoot === undefined ? {} : { verityRoot }),
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(sequences === undefined ? {} : { sequences }),
    ...readSampling(fields.sampling),
  }
}

function readHash(fields: Fields, name: string, which: string): string | undefined {
  const value = fields[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return value
  throw invalid(`${name} of ${which} is not 64 lower-case hex digits`)
}

function readCount(fields: Fields, name: string, which: string): number | undefined {
  const value = fields[name]
  if (value === undefined) return undefined
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value)
  throw invalid(`${name} of ${which} is not a positive integer`)
}

function readSampling(value: unknown): Pick<ModelFile, 'sampling'> {
  const { temperature, repetitionPenalty } = (value ?? {}) as Fields
  const sampling = {
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof repetitionPenalty === 'number' ? { repetitionPenalty } : {}),
  }
  return Object.keys(sampling).length === 0 ? {} : { sampling }
}

const invalid = (message: string, cause?: unknown) =>
  new WorkerError('settings_invalid', message, { cause })
