/** The worker's settings: its only reader of flags, environment and files. */
import { readFileSync } from 'node:fs'
import {
  type FlagSources,
  type FlagTable,
  formatHelp,
  type LogFormat,
  type Program,
  parseFlags,
  parseLogLevel,
  type Secret,
} from '@privatemode/service'
import {
  type AttestationSettings,
  attestationFlags,
  readAttestationSettings,
} from './evidence/attestation-settings.ts'
import { WorkerError } from './worker-error.ts'

/** One model file for the embedded engine. */
export type ModelFile = {
  readonly id: string
  readonly path: string
  readonly task: 'generate' | 'embed'
  readonly displayName?: string
  /** For requests that say nothing about sampling. */
  readonly sampling?: { readonly temperature?: number; readonly repetitionPenalty?: number }
}

export type EngineChoice =
  | { readonly kind: 'embedded'; readonly models: readonly ModelFile[] }
  | {
      readonly kind: 'http'
      readonly url: string
      readonly apiKey: Secret | undefined
      readonly acceptSharedCache: boolean
    }

export type Settings = {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly gatewayUrl: string
  /** Needed to register; `describe` does without. */
  readonly operatorToken: Secret | undefined
  readonly engine: EngineChoice
  readonly attestation: AttestationSettings
  readonly maxBodyBytes: number
  readonly maxRequests: number
  readonly drainMs: number
  readonly logFormat: LogFormat
  readonly logLevel: number
}

const flags = {
  port: {
    type: 'integer',
    default: 8095,
    max: 65535,
    help: 'port to listen on',
    group: 'Listening',
  },
  host: { type: 'string', default: '127.0.0.1', help: 'address to listen on', group: 'Listening' },
  publicUrl: {
    type: 'string',
    help: 'address at which gateways reach this worker, if it is not the one it listens on',
    group: 'Listening',
  },
  gatewayUrl: {
    type: 'string',
    default: 'http://127.0.0.1:8090',
    help: 'gateway to register at',
    group: 'Gateway',
  },
  operatorToken: {
    type: 'secret',
    help: "the gateway's operator token, or @path of a file that has it",
    group: 'Gateway',
  },
  modelsFile: {
    type: 'string',
    help: 'JSON list of GGUF files to run in this process: [{"id","path","task":"generate"|"embed"}]',
    group: 'Models',
  },
  engineUrl: {
    type: 'string',
    help: 'OpenAI-compatible model server to use instead, such as http://127.0.0.1:8000',
    group: 'Models',
  },
  engineKey: { type: 'secret', help: 'API key of the model server, or @path', group: 'Models' },
  acceptSharedCache: {
    type: 'boolean',
    default: false,
    help: 'use a model server that cannot keep the prompt caches of its callers apart',
    group: 'Models',
  },
  ...attestationFlags,
  maxBodyBytes: {
    type: 'integer',
    default: 40 * 1024 * 1024,
    help: 'largest sealed request',
    group: 'Limits',
  },
  maxRequests: {
    type: 'integer',
    default: 1024,
    min: 1,
    help: 'requests and streams at once; more get 503',
    group: 'Limits',
  },
  drainMs: {
    type: 'integer',
    default: 30_000,
    help: 'time that running requests have when the worker stops',
    group: 'Limits',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    help: 'form of the log',
    group: 'Watching',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    help: 'lowest level that is logged',
    group: 'Watching',
  },
} as const satisfies FlagTable

export const program: Program<typeof flags> = {
  name: 'privatemode-worker',
  summary: 'runs models inside a confidential machine and answers sealed requests',
  version: '0.1.0',
  envPrefix: 'PRIVATEMODE_WORKER_',
  flags,
}

export type ParsedSettings =
  | { readonly kind: 'settings'; readonly settings: Settings }
  | { readonly kind: 'text'; readonly text: string }

export function parseSettings(sources: FlagSources): ParsedSettings {
  const parsed = parseFlags(program, sources)
  if (parsed.kind === 'help') return { kind: 'text', text: formatHelp(program) }
  if (parsed.kind === 'version') return { kind: 'text', text: `${program.version}\n` }
  const { values } = parsed
  const level = parseLogLevel(values.logLevel)
  if (level === undefined) {
    throw contradiction(`logLevel is "${values.logLevel}", expected debug, info, warn or error`)
  }
  const settings: Settings = {
    host: values.host,
    port: values.port,
    publicUrl: values.publicUrl,
    gatewayUrl: values.gatewayUrl.replace(/\/+$/, ''),
    operatorToken: values.operatorToken,
    engine: chooseEngine(values),
    attestation: readAttestationSettings(values),
    maxBodyBytes: values.maxBodyBytes,
    maxRequests: values.maxRequests,
    drainMs: values.drainMs,
    logFormat: values.logFormat,
    logLevel: level,
  }
  return { kind: 'settings', settings: Object.freeze(settings) }
}

type EngineFlags = {
  readonly modelsFile: string | undefined
  readonly engineUrl: string | undefined
  readonly engineKey: Secret | undefined
  readonly acceptSharedCache: boolean
}

function chooseEngine({ modelsFile, engineUrl, ...server }: EngineFlags): EngineChoice {
  if ((modelsFile === undefined) === (engineUrl === undefined)) {
    throw contradiction('set either --modelsFile (embedded engine) or --engineUrl (model server)')
  }
  if (engineUrl !== undefined) {
    const { engineKey: apiKey, acceptSharedCache } = server
    return { kind: 'http', url: engineUrl, apiKey, acceptSharedCache }
  }
  return { kind: 'embedded', models: readModelsFile(modelsFile ?? '') }
}

function readModelsFile(path: string): ModelFile[] {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw contradiction(`the models file ${path} cannot be read as JSON`, cause)
  }
  if (!Array.isArray(json) || json.length === 0) {
    throw contradiction(`the models file ${path} must be a list with at least one model`)
  }
  return json.map((entry: unknown, index) => {
    const fields = (entry ?? {}) as { [field: string]: unknown }
    const { id, path: file, task, display_name } = fields
    const valid = typeof id === 'string' && typeof file === 'string'
    if (!valid || (task !== 'generate' && task !== 'embed')) {
      throw contradiction(`model ${index} of ${path} needs id, path and task (generate or embed)`)
    }
    const named = typeof display_name === 'string' ? { displayName: display_name } : {}
    return { id, path: file, task, ...named, ...readSampling(fields.sampling) }
  })
}

function readSampling(value: unknown): Pick<ModelFile, 'sampling'> {
  const { temperature, repetitionPenalty } = (value ?? {}) as { [field: string]: unknown }
  const sampling = {
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof repetitionPenalty === 'number' ? { repetitionPenalty } : {}),
  }
  return Object.keys(sampling).length === 0 ? {} : { sampling }
}

export const contradiction = (message: string, cause?: unknown) =>
  new WorkerError('settings_invalid', message, { cause })
