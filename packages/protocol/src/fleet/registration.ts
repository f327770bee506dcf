/** What a worker says about itself to be listed, and what the registry answers. */
import type { ModelObject } from '../api/index.ts'

/** The body of `PUT registry/workers/{id}`. */
export type RegistrationBody = {
  /** Origin at which gateways reach the worker. */
  readonly url: string
  readonly models: readonly ModelObject[]
  readonly seal_key_id: string
  /** Base64 of the raw Ed25519 key that signs receipts. */
  readonly receipt_key: string
  /** Base64 of the key that authenticates relayed requests; see `relayed-request.ts`. */
  readonly relay_key: string
  /** Requests that the worker takes at once. */
  readonly capacity: number
  readonly active: number
  readonly draining: boolean
}

export type RegistrationAnswer = {
  /** The worker is gone unless it renews within this time. */
  readonly lease_seconds: number
  /** Whether the operator wants no new requests to go to the worker. */
  readonly drain: boolean
}

/** The answer to `DELETE registry/workers/{id}`. */
export type LeavingAnswer = {
  readonly left: true
  /** So long other gateways may still send requests: the worker should take them. */
  readonly linger_seconds: number
}

/** A renewal that is lost is followed by another before the lease ends. */
const renewalsPerLease = 3
const longestRenewMs = 2_000
const shortestRenewMs = 100

/** How long after one renewal a worker makes the next. `undefined` is a lease that it does not know yet. */
export function renewAfterMs(leaseSeconds: number | undefined): number {
  if (leaseSeconds === undefined || !(leaseSeconds > 0)) return longestRenewMs
  const dueMs = (1000 * leaseSeconds) / renewalsPerLease
  return Math.min(Math.max(dueMs, shortestRenewMs), longestRenewMs)
}
