/** What a worker sends to be listed, and what the registry replies. */
import type { ModelObject } from '../api/index.ts'

/** The body of `PUT registry/workers/{id}`. */
export type RegistrationBody = {
  /** The origin where gateways reach the worker. */
  readonly url: string
  readonly models: readonly ModelObject[]
  readonly seal_key_id: string
  /** Base64 of the raw Ed25519 key that signs receipts. */
  readonly receipt_key: string
  /** Base64 of the key that authenticates relayed requests; see `relayed-request.ts`. */
  readonly relay_key: string
  /** How many requests the worker handles concurrently. */
  readonly capacity: number
  readonly active: number
  readonly draining: boolean
}

/** What an operator seals to a worker after verifying it. */
export type ProvisionBody = { readonly register_token: string }

export type RegistrationAnswer = {
  /** The worker is delisted unless it renews within this time. */
  readonly lease_seconds: number
  /** Whether the operator wants the worker to receive no new requests. */
  readonly drain: boolean
}

/** The response to `DELETE registry/workers/{id}`. */
export type LeavingAnswer = {
  readonly left: true
  /** Other gateways may still send requests for this long: the worker should keep serving them. */
  readonly linger_seconds: number
}

/** If one renewal is lost, another follows before the lease ends. */
const renewalsPerLease = 3
const longestRenewMs = 2_000
const shortestRenewMs = 100

/**
 * How long a worker waits between renewals; `undefined` means that it does not know its lease yet.
 */
export function renewAfterMs(leaseSeconds: number | undefined): number {
  if (leaseSeconds === undefined || !(leaseSeconds > 0)) return longestRenewMs
  const dueMs = (1000 * leaseSeconds) / renewalsPerLease
  return Math.min(Math.max(dueMs, shortestRenewMs), longestRenewMs)
}
