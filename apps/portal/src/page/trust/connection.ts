/** The verified connection shared by verification page, playground and models. */
import { createStore } from '../store.ts'
import type { Privatemode } from './attest.ts'
import { loadConfig } from './load-config.ts'
import { dropPortalKey, portalKey } from './portal-key.ts'
import { type Watched, watchSealed } from './sealed-view.ts'
import { operatorTrust, type Trust } from './trust.ts'

export type Connection =
  | { readonly kind: 'none' }
  | { readonly kind: 'verifying' }
  /** The operator configured no log key: there is nothing to verify against. */
  | { readonly kind: 'unconfigured' }
  /** Browsers do not offer cryptography to pages without HTTPS. */
  | { readonly kind: 'insecure' }
  | {
      readonly kind: 'verified'
      readonly client: Privatemode
      readonly watched: Watched
      readonly trust: Trust
      readonly at: Date
    }
  | {
      readonly kind: 'refused'
      readonly error: unknown
      readonly trust: Trust | undefined
      readonly at: Date
    }

export type Verified = Extract<Connection, { kind: 'verified' }>

export const connection = createStore<Connection>({ kind: 'none' })

let round = 0

/** Verifies again; without `chosen` trust, as configured by the operator. */
export async function verify(chosen?: Trust): Promise<void> {
  const mine = ++round
  connection.set({ kind: 'verifying' })
  const next = await attempt(chosen)
  if (mine === round) connection.set(next)
}

/** Verifies unless that was done or is in progress. */
export function verifyOnce(): void {
  if (connection.get().kind === 'none') void verify()
}

/**
 * Makes a call. Another tab, or an admin, may have changed the key of these pages in the meantime:
 * then a fresh one is obtained, the backend verified again, and the call repeated.
 */
export async function callVerified<T>(
  verified: Verified,
  call: (verified: Verified) => Promise<T>,
): Promise<T> {
  try {
    return await call(verified)
  } catch (error) {
    if (!isKeyRefused(error)) throw error
    const current = connection.get()
    // The first caller that noticed has renewed it for all.
    if (current.kind !== 'verified' || current === verified) {
      dropPortalKey()
      await verify(verified.trust)
    }
    const next = connection.get()
    if (next.kind !== 'verified') throw error
    return call(next)
  }
}

/** When another member signs in, nothing of the previous one is left. */
export function forgetConnection(): void {
  round++
  connection.set({ kind: 'none' })
}

async function attempt(chosen: Trust | undefined): Promise<Connection> {
  if (!isSecureContext) return { kind: 'insecure' }
  let trust = chosen
  try {
    trust ??= operatorTrust(await loadConfig())
    if (trust === undefined) return { kind: 'unconfigured' }
    const watched = watchSealed()
    const client = await connect(trust, watched)
    return { kind: 'verified', client, watched, trust, at: new Date() }
  } catch (error) {
    return { kind: 'refused', error, trust, at: new Date() }
  }
}

async function connect(trust: Trust, watched: Watched): Promise<Privatemode> {
  const { attest } = await import('./attest.ts')
  try {
    return await attest(trust, await portalKey(), watched.fetch)
  } catch (error) {
    if (!isKeyRefused(error)) throw error
    dropPortalKey()
    return attest(trust, await portalKey(), watched.fetch)
  }
}

const isKeyRefused = (error: unknown): boolean =>
  (error as { readonly code?: unknown } | undefined)?.code === 'invalid_api_key'
