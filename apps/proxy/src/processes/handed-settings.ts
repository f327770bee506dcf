/** Settings on their way to a serving process: read once by the supervisor, so that all processes have the same. */
import { randomBytes } from 'node:crypto'
import { Secret } from '@privatemode/service'
import type { SaltPolicy } from '../inbound/cache-salt.ts'
import type { Settings } from '../settings.ts'

type HandedSalt =
  | { readonly kind: 'isolated' }
  | { readonly kind: 'shared' | 'per-key'; readonly secret: string }

/** Secrets are in clear here: they go through a pipe between two processes and nowhere else. */
export type HandedSettings = Omit<Settings, 'apiKey' | 'salt'> & {
  readonly apiKey: string | null
  readonly salt: HandedSalt
}

/** A salt that is random until the restart is drawn here: one for all processes. */
export function handSettings(settings: Settings): HandedSettings {
  const { apiKey, salt, ...rest } = settings
  return { ...rest, apiKey: apiKey?.reveal() ?? null, salt: handSalt(salt) }
}

export function receiveSettings(handed: HandedSettings): Settings {
  const { apiKey, salt, tls, softwareRoot, cacheCheckMs, receipts, ...rest } = handed
  return Object.freeze({
    ...rest,
    // What is not set does not travel.
    tls: tls ?? undefined,
    softwareRoot: softwareRoot ?? undefined,
    cacheCheckMs: cacheCheckMs ?? undefined,
    receipts: receipts ?? undefined,
    apiKey: apiKey === null ? undefined : new Secret(apiKey),
    salt: receiveSalt(salt),
  })
}

function handSalt(policy: SaltPolicy): HandedSalt {
  switch (policy.kind) {
    case 'isolated':
      return policy
    case 'shared-random':
      return { kind: 'shared', secret: randomBytes(32).toString('base64') }
    case 'shared':
      return { kind: 'shared', secret: policy.salt.reveal() }
    case 'per-key':
      return { kind: 'per-key', secret: policy.secret.reveal() }
  }
}

function receiveSalt(handed: HandedSalt): SaltPolicy {
  switch (handed.kind) {
    case 'isolated':
      return handed
    case 'shared':
      return { kind: 'shared', salt: new Secret(handed.secret) }
    case 'per-key':
      return { kind: 'per-key', secret: new Secret(handed.secret) }
  }
}
