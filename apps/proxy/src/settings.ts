/** Parses flags, environment and files into frozen settings; contradictions are refused with the remedy. */
import { fleetPaths } from '@privatemode/protocol/fleet'
import type { LogTrust } from '@privatemode/sdk'
import {
  type FlagSources,
  type FlagValues,
  isLoopback,
  type LogFormat,
  type ParsedSettings,
  parseFlags,
  parseLogLevel,
  type Secret,
  ServiceError,
} from '@privatemode/service'
import type { AnswerLimits } from './exchange/answer-timeouts.ts'
import { program } from './flag-table.ts'
import type { SaltPolicy } from './inbound/cache-salt.ts'
import { withoutServiceLinks } from './service-links.ts'
import { parseLogPolicy } from './trust/log-policy.ts'

export type TrafficShape = 'off' | 'default' | 'strict'

export type ManifestSetting =
  | {
      readonly kind: 'log'
      readonly url: string
      readonly trust: LogTrust
      readonly maxAgeHours: number
    }
  | { readonly kind: 'file'; readonly path: string }

export type ModeSetting =
  | { readonly kind: 'local'; readonly allowedHosts: readonly string[] }
  | { readonly kind: 'hosted'; readonly manifestPath: string | undefined }

export type Settings = {
  readonly listen: { readonly address: string; readonly port: number }
  /** `https://host:port` without a trailing slash. */
  readonly apiUrl: string
  readonly apiKey: Secret | undefined
  readonly manifest: ManifestSetting
  readonly revocation: { readonly allowUnknown: boolean; readonly graceHours: number }
  readonly salt: SaltPolicy
  readonly tls: { readonly certPath: string; readonly keyPath: string } | undefined
  readonly mode: ModeSetting
  readonly softwareRoot: string | undefined
  readonly shape: TrafficShape
  readonly workspace: string
  readonly dumpRequests: boolean
  /** File in which signed receipts are kept. */
  readonly receipts: string | undefined
  readonly metrics: boolean
  /** How often prompt caches are probed; `undefined` for never. */
  readonly cacheCheckMs: number | undefined
  /** Number of serving processes. */
  readonly processes: number
  readonly bodyLimitBytes: number
  readonly answers: AnswerLimits
  readonly drainMs: number
  readonly log: { readonly format: LogFormat; readonly level: number }
}

type Values = FlagValues<(typeof program)['flags']>

const saltBytes = 32

export function readSettings(sources: FlagSources): ParsedSettings<Settings> {
  const parsed = parseFlags(program, { ...sources, env: withoutServiceLinks(sources.env) })
  if (parsed.kind === 'text') return parsed
  const { values, given } = parsed
  if (!given.has('apiEndpoint')) {
    throw stop(
      `no service is built in (${values.apiEndpoint} is an example); set --apiEndpoint to host:port of yours`,
    )
  }
  const apiUrl = readEndpoint('--apiEndpoint', values.apiEndpoint)
  const mode = readMode(values)
  return {
    kind: 'settings',
    settings: Object.freeze({
      listen: { address: values.listenAddress, port: readPort(values.port) },
      apiUrl,
      apiKey: filled(values.apiKey),
      manifest: readManifest(values, apiUrl),
      revocation: {
        allowUnknown: values.vendorOCSPAllowUnknown,
        graceHours: values.vendorOCSPRevokedGracePeriod,
      },
      salt: readSalt(values),
      tls: readTls(values),
      mode,
      softwareRoot: readSoftwareRoot(values),
      shape: values.trafficShape,
      workspace: values.workspace,
      dumpRequests: values.dumpRequests,
      receipts: values.receipts || undefined,
      metrics: values.metrics,
      cacheCheckMs: readCacheCheck(values),
      processes: values.workers,
      bodyLimitBytes: values.bodyLimitMib * 1024 * 1024,
      answers: {
        silentMs: values.answerSilenceSeconds * 1000,
        totalMs: values.answerLimitMinutes * 60_000,
      },
      drainMs: values.drainSeconds * 1000,
      log: { format: values['log-format'], level: readLevel(values['log-level']) },
    }),
  }
}

/** `host:port` means HTTPS; `http://` is for loopback only, where there is no network to eavesdrop on. */
function readEndpoint(flag: string, text: string): string {
  const spelled = /^https?:\/\//.test(text) ? text : `https://${text}`
  const url = URL.canParse(spelled) ? new URL(spelled) : undefined
  if (url === undefined || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw stop(`${flag} is "${text}", expected host:port`)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw stop(`${flag} is plain http to another machine; write it as host:port, which is HTTPS`)
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function readManifest(values: Values, apiUrl: string): ManifestSetting {
  if (values.manifestPath) {
    if (values.manifestEndpoint) {
      throw stop('--manifestPath and --manifestEndpoint name two sources; set one of them')
    }
    return { kind: 'file', path: values.manifestPath }
  }
  const key = values.manifestLogKey?.trim()
  if (!key) {
    throw stop(
      'set --manifestLogKey to the public key of the manifest log, or --manifestPath to a file',
    )
  }
  const url = values.manifestEndpoint
    ? readEndpoint('--manifestEndpoint', values.manifestEndpoint)
    : apiUrl + fleetPaths.log
  const maxAgeHours = values.manifestMaxAgeHours
  return { kind: 'log', url, trust: parseLogPolicy(key), maxAgeHours }
}

function readSalt(values: Values): SaltPolicy {
  const given = filled(values.promptCacheSalt)
  if (values.hosted) {
    if (given !== undefined || values.sharedPromptCache) {
      throw stop(
        '--hosted keeps one cache per API key; leave out --sharedPromptCache and --promptCacheSalt',
      )
    }
    const secret = filled(values.hostedSaltSecret)
    if (secret === undefined) {
      throw stop('--hosted needs --hostedSaltSecret: at least 32 random bytes, best as @file')
    }
    return { kind: 'per-key', secret: longEnough('--hostedSaltSecret', secret) }
  }
  if (filled(values.hostedSaltSecret) !== undefined) {
    throw stop('--hostedSaltSecret is for --hosted; add --hosted or leave it out')
  }
  if (given === undefined) return { kind: values.sharedPromptCache ? 'shared-random' : 'isolated' }
  if (!values.sharedPromptCache) {
    throw stop('--promptCacheSalt requires --sharedPromptCache; add it or leave the salt out')
  }
  return { kind: 'shared', salt: longEnough('--promptCacheSalt', given) }
}

function readCacheCheck(values: Values): number | undefined {
  if (values.cacheCheckMinutes === 0) return undefined
  if (filled(values.apiKey) === undefined) {
    throw stop(
      '--cacheCheckMinutes needs --apiKey, which it uses for its probes; with --hosted use the command of docs/cache-canary.md',
    )
  }
  return values.cacheCheckMinutes * 60_000
}

function longEnough(flag: string, secret: Secret): Secret {
  const length = Buffer.byteLength(secret.reveal())
  if (length >= saltBytes) return secret
  throw stop(
    `${flag} has ${length} bytes, expected at least ${saltBytes}; generate one with: openssl rand -base64 32`,
  )
}

function readTls(values: Values): Settings['tls'] {
  const { tlsCertPath: certPath, tlsKeyPath: keyPath } = values
  if (certPath && keyPath) return { certPath, keyPath }
  if (certPath) throw stop('--tlsCertPath is set without --tlsKeyPath; set both for HTTPS')
  if (keyPath) throw stop('--tlsKeyPath is set without --tlsCertPath; set both for HTTPS')
  if (values.hosted) throw stop('--hosted serves HTTPS only; set --tlsCertPath and --tlsKeyPath')
  return undefined
}

function readMode(values: Values): ModeSetting {
  const allowedHosts = values.allowedHosts
    .split(',')
    .map((host) => host.trim().toLowerCase())
    .filter((host) => host !== '')
  if (!values.hosted) {
    if (values.hostedManifestPath) {
      throw stop('--hostedManifestPath is for --hosted; add --hosted or leave it out')
    }
    return { kind: 'local', allowedHosts }
  }
  if (filled(values.apiKey) !== undefined) {
    throw stop('--hosted serves each request under its own key; leave out --apiKey')
  }
  if (values.dumpRequests) {
    throw stop(
      "--dumpRequests would write other people's prompts to disk; leave it out with --hosted",
    )
  }
  if (values.receipts) {
    throw stop(
      "--receipts would keep records of other people's requests; leave it out with --hosted",
    )
  }
  if (allowedHosts.length > 0) {
    throw stop('--hosted answers under every name; leave out --allowedHosts')
  }
  return { kind: 'hosted', manifestPath: values.hostedManifestPath }
}

function readSoftwareRoot(values: Values): string | undefined {
  const fingerprint = values.softwareRootFingerprint?.trim().toLowerCase()
  if (!values.allowSoftwareAttestation) {
    if (!fingerprint) return undefined
    throw stop(
      '--softwareRootFingerprint has no effect without --allowSoftwareAttestation; set both or neither',
    )
  }
  if (!fingerprint) {
    throw stop(
      '--allowSoftwareAttestation needs --softwareRootFingerprint, so that one root is accepted, not any',
    )
  }
  if (!/^[0-9a-f]{64}$/.test(fingerprint)) {
    throw stop('--softwareRootFingerprint is not 64 hex digits')
  }
  return fingerprint
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port < 0 || port > 65535) throw stop(`--port is "${text}", expected a number from 0 to 65535`)
  return port
}

function readLevel(text: string): number {
  const level = parseLogLevel(text)
  if (level === undefined) {
    throw stop(`--log-level is "${text}", expected debug, info, warn, error or a number`)
  }
  return level
}

/** An empty value counts as unset: charts and scripts pass `--apiKey ""`. */
function filled(secret: Secret | undefined): Secret | undefined {
  return secret === undefined || secret.reveal() === '' ? undefined : secret
}

function stop(message: string): ServiceError {
  return new ServiceError('flag_invalid', message)
}
