/** The worker's settings: only this file and its siblings read flags and environment. */
import {
  type FlagSources,
  type FlagTable,
  isLoopback,
  type LogFormat,
  logFlags,
  type ParsedSettings,
  type Program,
  parseFlags,
  parseLogLevel,
  type Secret,
} from '@privatemode/service'
import { type EngineChoice, engineFlags, readEngineSettings } from './engine-settings.ts'
import {
  type AttestationSettings,
  attestationFlags,
  readAttestationSettings,
} from './evidence/attestation-settings.ts'
import { WorkerError } from './worker-error.ts'

export type Settings = {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly gatewayUrl: string
  /** Certificate authorities for the gateway, if not the system's. */
  readonly gatewayCaPath: string | undefined
  /** Required to register; `describe` works without it. */
  readonly registerToken: Secret | undefined
  /** Start without one and wait until `provision` delivers it. */
  readonly awaitRegisterToken: boolean
  readonly engine: EngineChoice
  readonly attestation: AttestationSettings
  readonly maxBodyBytes: number
  /** Limit for all sealed requests in progress that are not short. */
  readonly maxBodyBytesTotal: number
  readonly maxRequests: number
  readonly keySharePercent: number
  readonly drainMs: number
  readonly metricsPort: number | undefined
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
    help: 'address at which gateways reach this worker, if it differs from the listening address',
    group: 'Listening',
  },
  gatewayUrl: {
    type: 'string',
    default: 'http://127.0.0.1:8090',
    help: 'gateway to register at; https, except on this machine',
    group: 'Gateway',
  },
  gatewayCaPath: {
    type: 'string',
    help: "PEM file of certificate authorities for the gateway, instead of the system's",
    group: 'Gateway',
  },
  allowPlainGateway: {
    type: 'boolean',
    default: false,
    help: 'send the register token over plain http to another machine: only in a network that is encrypted or exclusively yours',
    group: 'Gateway',
  },
  registerToken: {
    type: 'secret',
    help: "the gateway's register token, or @path of a file that contains it",
    group: 'Gateway',
  },
  awaitRegisterToken: {
    type: 'boolean',
    default: false,
    help: 'start without a register token and wait for `npm run verify -- provision`, which verifies this worker and seals the token to it',
    group: 'Gateway',
  },
  ...engineFlags,
  ...attestationFlags,
  maxBodyBytes: {
    type: 'integer',
    default: 40 * 1024 * 1024,
    help: 'maximum size of a sealed request',
    group: 'Limits',
  },
  maxBodyBytesTotal: {
    type: 'integer',
    default: 512 * 1024 * 1024,
    help: 'total bytes of concurrent sealed requests over 64 KiB; more get 503. A request takes about four times its size in memory',
    group: 'Limits',
  },
  maxRequests: {
    type: 'integer',
    default: 1024,
    min: 1,
    help: 'concurrent requests and streams; more get 503',
    group: 'Limits',
  },
  keySharePercent: {
    type: 'integer',
    default: 80,
    min: 1,
    max: 100,
    help: "percentage of the engine's concurrent requests that one key may use when no other does; more get 429. 100: all of them",
    group: 'Limits',
  },
  drainMs: {
    type: 'integer',
    default: 30_000,
    help: 'time for requests in flight to finish when the worker stops',
    group: 'Limits',
  },
  metricsPort: {
    type: 'integer',
    max: 65535,
    help: 'serve Prometheus metrics at /metrics on this separate port',
    group: 'Watching',
  },
  ...logFlags,
} as const satisfies FlagTable

export const program: Program<typeof flags> = {
  name: 'privatemode-worker',
  summary: 'runs models inside a confidential machine and answers sealed requests',
  version: '0.1.0',
  envPrefix: 'PRIVATEMODE_WORKER_',
  commands: {
    describe: 'prints the models and the software measurement that a manifest must list',
    reference: 'prints reference values for `manifest build`; needs --softwareIdentity',
    'gpu-evidence': 'prints evidence for the NVIDIA GPUs in this machine (--nonce HEX)',
    identity: 'creates an identity for software attestation (--out FILE)',
  },
  flags,
}

/** `own` is a command that takes the worker's flags, for its own help. */
export function parseSettings(sources: FlagSources, own = program): ParsedSettings<Settings> {
  refuseOperatorToken(sources)
  const parsed = parseFlags(own, sources)
  if (parsed.kind === 'text') return parsed
  const { values } = parsed
  const level = parseLogLevel(values.logLevel)
  if (level === undefined) {
    throw contradiction(`logLevel is "${values.logLevel}", expected debug, info, warn or error`)
  }
  if (values.awaitRegisterToken && values.registerToken !== undefined) {
    throw contradiction('set either --registerToken or --awaitRegisterToken')
  }
  const settings: Settings = {
    host: values.host,
    port: values.port,
    publicUrl: values.publicUrl,
    gatewayUrl: readGatewayUrl(values.gatewayUrl, values.allowPlainGateway),
    gatewayCaPath: values.gatewayCaPath,
    registerToken: values.registerToken,
    awaitRegisterToken: values.awaitRegisterToken,
    engine: readEngineSettings(values),
    attestation: readAttestationSettings(values),
    maxBodyBytes: values.maxBodyBytes,
    maxBodyBytesTotal: readTotal(values.maxBodyBytes, values.maxBodyBytesTotal),
    maxRequests: values.maxRequests,
    keySharePercent: values.keySharePercent,
    drainMs: values.drainMs,
    metricsPort: values.metricsPort,
    logFormat: values.logFormat,
    logLevel: level,
  }
  return { kind: 'settings', settings: Object.freeze(settings) }
}

function readTotal(maxBodyBytes: number, total: number): number {
  if (total >= maxBodyBytes) return total
  throw contradiction(
    `maxBodyBytesTotal is ${total}, less than one request of maxBodyBytes (${maxBodyBytes})`,
  )
}

/** Workers no longer receive a token that can administer the gateway. */
function refuseOperatorToken({ args, env }: FlagSources): void {
  const isGiven =
    args.some((arg) => /^--operatorToken(=|$)/.test(arg)) ||
    env.PRIVATEMODE_WORKER_OPERATOR_TOKEN !== undefined
  if (isGiven) throw contradiction("operatorToken was split: set --registerToken to the gateway's")
}

/** The register token's holder can list machines and report usage, so it must not travel in the clear. */
function readGatewayUrl(text: string, allowPlain: boolean): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw contradiction(`gatewayUrl is "${text}", expected a URL such as https://gateway.example`)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowPlain) {
    throw contradiction(
      `gatewayUrl is plain http to ${url.host}, which would show the register token to the network; ` +
        'use https, or set --allowPlainGateway if the network is protected',
    )
  }
  return text.replace(/\/+$/, '')
}

export const contradiction = (message: string, cause?: unknown) =>
  new WorkerError('settings_invalid', message, { cause })
