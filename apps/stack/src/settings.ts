/** The stack's settings: the only reader of flags and environment. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  type FlagSources,
  type FlagTable,
  type ParsedSettings,
  type Program,
  parseFlags,
  Secret,
} from '@privatemode/service'
import { StackError } from './stack-error.ts'

export type Settings = {
  readonly home: string
  readonly ports: { readonly proxy: number; readonly proxyless: number; readonly gateway: number }
  /** A name listed by `--help`, the path of a GGUF file, or a file from Hugging Face or Ollama. */
  readonly chatModel: string
  /** No model or server was named, so it is worth suggesting what else this machine has. */
  readonly isDefaultModel: boolean
  readonly embedModel: string
  readonly engineUrl: string | undefined
  readonly huggingFace: { readonly endpoint: string; readonly token: Secret | undefined }
  /** Ollama's model directory. */
  readonly ollamaModels: string
  readonly acceptSharedCache: boolean
  readonly trafficShape: string
  readonly logLevel: string
}

const flags = {
  port: { type: 'integer', default: 8080, max: 65535, help: 'port of the proxy', group: 'Ports' },
  proxylessPort: {
    type: 'integer',
    default: 8443,
    max: 65535,
    help: 'port of the proxyless HTTPS endpoint',
    group: 'Ports',
  },
  gatewayPort: {
    type: 'integer',
    default: 8090,
    max: 65535,
    help: 'port of the gateway, its portal and the manifest log',
    group: 'Ports',
  },
  chatModel: {
    type: 'string',
    default: 'tinyllama-1.1b-chat',
    help: 'chat model: tinyllama-1.1b-chat, stories15m, the path of a GGUF file, hf:ORG/REPO/FILE.gguf from Hugging Face, or ollama:NAME that Ollama has downloaded',
    group: 'Models',
  },
  embedModel: {
    type: 'string',
    default: 'all-minilm-l6-v2',
    help: 'embedding model: all-minilm-l6-v2, the path of a GGUF file, or none',
    group: 'Models',
  },
  engineUrl: {
    type: 'string',
    help: 'model server to use instead of the embedded engine, such as http://127.0.0.1:8000',
    group: 'Models',
  },
  acceptSharedCache: {
    type: 'boolean',
    default: false,
    help: 'use a model server that cannot isolate the prompt caches of its callers, such as Ollama',
    group: 'Models',
  },
  home: {
    type: 'string',
    help: 'directory of keys, database, models and logs; .privatemode if unset',
    group: 'Files',
  },
  trafficShape: {
    type: 'string',
    default: 'default',
    choices: ['off', 'default', 'strict'],
    help: 'how strongly the sizes and timing of encrypted messages are padded',
    group: 'Privacy',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    help: 'minimum level in the log files: debug, info, warn or error',
    group: 'Files',
  },
} as const satisfies FlagTable

const version = '0.1.0'

export const program: Program<typeof flags> = {
  name: 'npm start --',
  title: `npm start (Privatemode ${version})`,
  summary:
    'runs the whole system on this machine: worker with a model, gateway, proxy, proxyless endpoint',
  version,
  envPrefix: 'PRIVATEMODE_',
  flags,
}

export function parseSettings(sources: FlagSources): ParsedSettings<Settings> {
  const parsed = parseFlags(program, sources)
  if (parsed.kind === 'text') return parsed
  const { values, given } = parsed
  const namesModel =
    given.has('chatModel') || (given.has('embedModel') && values.embedModel !== 'none')
  if (values.engineUrl !== undefined && namesModel) {
    throw new StackError(
      'settings_invalid',
      'a model server brings its own models; leave out --chatModel and --embedModel',
    )
  }
  if (values.engineUrl === undefined && values.acceptSharedCache) {
    throw new StackError('settings_invalid', '--acceptSharedCache needs --engineUrl')
  }
  const ports = {
    proxy: values.port,
    proxyless: values.proxylessPort,
    gateway: values.gatewayPort,
  }
  if (new Set(Object.values(ports)).size < 3) {
    throw new StackError('settings_invalid', 'the three ports must differ')
  }
  const { HF_ENDPOINT, HF_TOKEN, OLLAMA_MODELS } = sources.env
  const settings: Settings = {
    home: resolve(values.home ?? '.privatemode'),
    ports,
    chatModel: values.chatModel,
    isDefaultModel: !given.has('chatModel') && values.engineUrl === undefined,
    embedModel: values.embedModel,
    engineUrl: values.engineUrl,
    huggingFace: {
      endpoint: (HF_ENDPOINT || 'https://huggingface.co').replace(/\/+$/, ''),
      token: HF_TOKEN ? new Secret(HF_TOKEN) : undefined,
    },
    ollamaModels: OLLAMA_MODELS || join(homedir(), '.ollama', 'models'),
    acceptSharedCache: values.acceptSharedCache,
    trafficShape: values.trafficShape,
    logLevel: values.logLevel,
  }
  return { kind: 'settings', settings: Object.freeze(settings) }
}
