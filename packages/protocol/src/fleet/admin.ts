/**
 * Response types of the admin API: times are ISO 8601, and `null` means "no limit" or "not yet".
 */

export type Limits = {
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly tokens_per_month: number | null
  readonly concurrent_streams: number | null
}

export type Key = {
  readonly id: string
  readonly account_id: string
  readonly name: string
  readonly prefix: string
  readonly created_by: string | null
  readonly created_at: string
  readonly rotated_at: string | null
  readonly expires_at: string | null
  /** The expiry set by an admin: members can only move it earlier. */
  readonly latest_expiry: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
  readonly limits: Limits
}

export type IssuedKey = Key & { readonly secret: string }

export type Role = 'admin' | 'member'

export type Member = {
  readonly id: string
  readonly account_id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  /** May administer the whole deployment. */
  readonly operates: boolean
  readonly has_password: boolean
  readonly created_at: string
  readonly disabled_at: string | null
}

export type SessionAnswer = { readonly member: Member; readonly csrf_token: string }

/** A one-time link that still works: for a new member, or for a member's new password. */
export type Invitation = {
  readonly id: string
  readonly account_id: string
  readonly role: Role
  readonly email: string | null
  /** Set if it resets the password of an existing member. */
  readonly member_id: string | null
  /** Null for the operator token. */
  readonly created_by: string | null
  readonly created_at: string
  readonly expires_at: string
}

/** The link itself appears in one response only. */
export type IssuedInvitation = Invitation & { readonly url: string }

/** An entry of the audit log. */
export type AuditEntry = {
  readonly id: number
  readonly at: string
  readonly action: string
  readonly account_id: string | null
  /** A member, `operator`, or null for a client that is not signed in. */
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly subject_id: string | null
  readonly subject_name: string
  readonly details: Readonly<Record<string, unknown>>
  /** Null for operators of the deployment, when shown to others. */
  readonly address: string | null
  /** How often it happened, up to `last_at`. */
  readonly times: number
  readonly last_at: string
}

export type Account = {
  readonly id: string
  readonly name: string
  readonly operates: boolean
  readonly created_at: string
  readonly disabled_at: string | null
  readonly limits: Limits
  /** For all keys of one member combined. */
  readonly member_limits: Limits
  readonly member_key_days: number | null
  /** Addresses in these domains are reserved for members of this account. */
  readonly email_domains: readonly string[]
}

export type ServedModel = {
  readonly id: string
  readonly display_name?: string
  readonly tasks?: readonly string[]
  readonly context_length?: number
  readonly input_modalities?: readonly string[]
  readonly created_at?: string
  readonly workers: number
}

export type Worker = {
  readonly id: string
  readonly url: string
  readonly models: readonly string[]
  readonly capacity: number
  readonly active: number
  readonly draining: boolean
  readonly registered_at: string
  readonly lease_until: string
}

/** What remains after draining a worker. */
export type DrainEffect = {
  /** Machines that still serve requests. */
  readonly remaining: number
  /** Models that no other machine serves. */
  readonly unserved_models: readonly string[]
}

/** For a million tokens each, in millionths of the currency. */
export type ModelPrice = {
  readonly model: string
  readonly input_micros: number
  /** For input tokens that came from the prompt cache. */
  readonly cached_micros: number
  readonly output_micros: number
}

/** The prices in force. Requests cost what they did when they started. */
export type Prices = {
  /** ISO 4217, such as `EUR`; null until prices are set. */
  readonly currency: string | null
  readonly models: readonly ModelPrice[]
}

/** What an account or a key should cost in this month (UTC) at most, and what it has cost. */
export type Budget = {
  /** An account or a key. */
  readonly subject_id: string
  readonly account_id: string
  readonly name: string
  readonly kind: 'account' | 'key'
  readonly budget_micros: number | null
  readonly spent_micros: number
}
