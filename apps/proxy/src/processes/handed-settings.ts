/** Settings for a serving process: parsed once by the supervisor, so that all processes share them. */
import { randomBytes } from 'node:crypto'
import { Secret } from '@privatemode/service'
import type { SaltPolicy } from '../inbound/cache-salt.ts'
import type { Settings } from '../settings.ts'

type HandedSalt =
  | { readonly kind: 'isolated' }
  | { readonly kind: 'shared' | 'per-key'; readonly secret: string }

/** Secrets are in the clear here: they only pass through a pipe between two processes. */
export type HandedSettings = Omit<Settings, 'apiKey' | 'salt'> & {
  readonly apiKey: string | null
  readonly salt: HandedSalt
}

/** A salt that is random per start is generated here: one for all processes. */
export function handSettings(settings: Settings): HandedSettings {
  const { apiKey, salt, ...rest } = settings
  return { ...rest, apiKey: apiKey?.reveal() ?? null, salt: handSalt(salt) }
}

export function receiveSettings(handed: HandedSettings): Settings {
  const { apiKey, salt, tls, softwareRoot, cacheCheckMs, receipts, ...rest } = handed
  return Object.freeze({
    ...rest,
    // Unset values are not transferred.
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
