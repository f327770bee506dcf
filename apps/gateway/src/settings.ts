/** The gateway's settings: the only reader of flags, environment and files. */
import { readFileSync } from 'node:fs'
import type { ConnectionLimits, PoolLimits, Tls } from '@privatemode/http'
import {
  type CaBundle,
  type FlagSources,
  type LogFormat,
  type ParsedSettings,
  parseFlags,
  parseLogLevel,
  readTraceSettings,
  Secret,
  type TraceSettings,
} from '@privatemode/service'
import { program } from './flags.ts'
import { GatewayError } from './gateway-error.ts'
import type { OidcSettings } from './members/oidc.ts'
import type { BodyLimits } from './relay/body-budget.ts'
import type { DatabaseHome } from './state/database.ts'
import { refuseOperatorToken } from './tokens/refuse-operator-token.ts'

export type Settings = {
  readonly host: string
  readonly port: number
  readonly tls: Tls | undefined
  readonly database: DatabaseHome
  /** For the admin API. */
  readonly adminToken: Secret
  /** For workers, to register and to report usage. */
  readonly registerToken: Secret
  /** Certificate authorities for https workers, if not the system's. */
  readonly workerCa: CaBundle | undefined
  /** Directory of the manifest log, served unchanged; without it, no log is served. */
  readonly logDir: string | undefined
  readonly portalDir: string | undefined
  /** The gateway's address for people, without a trailing slash; by default where it listens. */
  readonly publicUrl: string | undefined
  readonly oidc: OidcSettings | undefined
  readonly metrics: boolean
  readonly metricsToken: Secret | undefined
  /** Undefined disables tracing. */
  readonly tracing: TraceSettings | undefined
  readonly logFormat: LogFormat
  readonly logLevel: number
  readonly limits: Limits
}

export type Limits = {
  readonly bodies: BodyLimits
  readonly clients: ConnectionLimits & { readonly connections: number }
  readonly workers: PoolLimits
  readonly requests: number
  readonly keySharePercent: number
  readonly attempts: number
  readonly forwardedHops: number
  readonly firstByteTimeoutMs: number
  readonly attestationTimeoutMs: number
  readonly leaseSeconds: number
  readonly lostWorkerMs: number
  readonly usageGraceMs: number
  readonly reserveTokens: number
  readonly drainMs: number
}

export function parseSettings(sources: FlagSources): ParsedSettings<Settings> {
  refuseOperatorToken(sources)
  const parsed = parseFlags(program, sources)
  if (parsed.kind === 'text') return parsed
  const { values, given } = parsed
  const databaseUrl = values.databaseUrl?.reveal() ?? sources.env.DATABASE_URL
  if (databaseUrl !== undefined && given.has('dataDir')) {
    throw contradiction('dataDir and a database URL are both set; keep one of them')
  }
  const level = parseLogLevel(values.logLevel)
  if (level === undefined)
    throw contradiction(`logLevel is "${values.logLevel}", expected debug, info, warn or error`)
  const settings: Settings = {
    host: values.host,
    port: values.port,
    tls: readTls(values.tlsCertPath, values.tlsKeyPath),
    database:
      databaseUrl === undefined || databaseUrl === ''
        ? { kind: 'embedded', directory: values.dataDir }
        : { kind: 'server', url: databaseUrl, connections: values.databaseConnections },
    adminToken: checkToken('adminToken', values.adminToken),
    registerToken: checkToken('registerToken', values.registerToken),
    workerCa:
      values.workerCaPath === undefined
        ? undefined
        : { path: values.workerCaPath, setting: 'workerCaPath' },
    logDir: values.logDir,
    portalDir: values.portalDir,
    publicUrl: values.publicUrl === undefined ? undefined : readPublicUrl(values.publicUrl),
    oidc: readOidc(values),
    metrics: values.metrics,
    metricsToken: values.metricsToken,
    tracing: readTraceSettings(sources.env, 'privatemode-gateway'),
    logFormat: values.logFormat,
    logLevel: level,
    limits: {
      bodies: {
        maxBytes: values.maxBodyBytes,
        heldBytes: values.maxHeldBodyBytes,
        heldBytesTotal: values.maxHeldBodyBytesTotal,
      },
      clients: {
        connections: values.maxConnections,
        idleSeconds: values.idleSeconds,
        headSeconds: values.headSeconds,
        stallSeconds: values.stallSeconds,
      },
      workers: {
        connectTimeoutMs: values.connectTimeoutMs,
        idle: values.maxIdleWorkerConnections,
        idleMs: 30_000,
        silentMs: values.silentTimeoutMs,
      },
      requests: values.maxRequests,
      keySharePercent: values.keySharePercent,
      attempts: values.maxAttempts,
      forwardedHops: values.forwardedHops,
      firstByteTimeoutMs: values.firstByteTimeoutMs,
      attestationTimeoutMs: values.attestationTimeoutMs,
      leaseSeconds: values.leaseSeconds,
      lostWorkerMs: values.lostWorkerMs,
      usageGraceMs: values.usageGraceMs,
      reserveTokens: values.reserveTokens,
      drainMs: values.drainMs,
    },
  }
  checkDistinct(settings)
  return { kind: 'settings', settings: Object.freeze(settings) }
}

function readTls(certPath: string | undefined, keyPath: string | undefined): Tls | undefined {
  if (certPath === undefined && keyPath === undefined) return undefined
  if (certPath === undefined || keyPath === undefined) {
    throw contradiction('tlsCertPath and tlsKeyPath go together; one of them is missing')
  }
  return { certPem: readText(certPath), keyPem: readText(keyPath) }
}

function readPublicUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/') {
    throw contradiction(`publicUrl is "${text}", expected an origin such as https://ai.example.com`)
  }
  return url.origin
}

type OidcFlags = {
  readonly publicUrl: string | undefined
  readonly oidcIssuer: string | undefined
  readonly oidcClientId: string | undefined
  readonly oidcClientSecret: Secret | undefined
}

function readOidc(values: OidcFlags): Settings['oidc'] {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = values
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw contradiction('oidcIssuer, oidcClientId and oidcClientSecret go together')
  }
  if (values.publicUrl === undefined)
    throw contradiction('oidcIssuer needs publicUrl for the redirect back')
  return { issuer, clientId, clientSecret, publicUrl: readPublicUrl(values.publicUrl) }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new GatewayError('settings_contradict', `cannot read ${path}; check the path`, { cause })
  }
}

function checkToken(name: string, token: Secret | undefined): Secret {
  if (token === undefined || token.reveal().length < 32) {
    throw contradiction(
      `set --${name} to a token of at least 32 characters, or to @path of a file that contains one (openssl rand -hex 32 creates one)`,
    )
  }
  return new Secret(token.reveal())
}

/** Using one token for two purposes would give its holder both. */
function checkDistinct({ adminToken, registerToken, metricsToken }: Settings): void {
  const tokens = [adminToken, registerToken, metricsToken].flatMap((token) => token?.reveal() ?? [])
  if (new Set(tokens).size < tokens.length) {
    throw contradiction('adminToken, registerToken and metricsToken must differ')
  }
}

function contradiction(message: string): GatewayError {
  return new GatewayError('settings_contradict', message)
}
