/** What the admin API answers: times are ISO 8601, and `null` means no limit or not yet. */

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

export type Invitation = { readonly url: string; readonly expires_at: string }

export type Account = {
  readonly id: string
  readonly name: string
  readonly operates: boolean
  readonly created_at: string
  readonly disabled_at: string | null
  readonly limits: Limits
}

export type ServedModel = {
  readonly id: string
  readonly display_name?: string
  readonly tasks?: readonly string[]
  readonly context_length?: number
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
