/**
 * Answers of the admin API, each defined once: the gateway returns them, the portal reads them, and the OpenAPI
 * document shows them.
 *
 * Times are ISO 8601, and `null` means "no limit" or "not yet".
 */
import {
  anything,
  choice,
  count,
  type Described,
  described,
  either,
  list,
  moment,
  nullable,
  object,
  text,
  truth,
} from './schema.ts'

const limits = object({
  requests_per_minute: nullable(count),
  tokens_per_minute: nullable(count),
  tokens_per_month: nullable(count),
  concurrent_streams: nullable(count),
})
export type Limits = Described<typeof limits>

const keyMembers = {
  id: text,
  account_id: text,
  name: text,
  prefix: text,
  created_by: nullable(text),
  created_at: moment,
  rotated_at: nullable(moment),
  expires_at: nullable(moment),
  latest_expiry: described(
    nullable(moment),
    'the expiry set by an admin: members can only move it earlier',
  ),
  revoked_at: nullable(moment),
  last_used_at: nullable(moment),
  limits,
}
const key = object(keyMembers)
export type Key = Described<typeof key>
const issuedKey = object({ ...keyMembers, secret: text })
export type IssuedKey = Described<typeof issuedKey>

const role = choice('admin', 'member')
export type Role = Described<typeof role>

const member = object({
  id: text,
  account_id: text,
  email: text,
  name: text,
  role,
  operates: described(truth, 'may administer the whole deployment'),
  has_password: truth,
  created_at: moment,
  disabled_at: nullable(moment),
})
export type Member = Described<typeof member>

const session = object({ member, csrf_token: text })
export type SessionAnswer = Described<typeof session>
/** The admin token has no session; it learns that it is valid. */
const ownSession = either(session, object({ operator: truth }))

const invitationMembers = {
  id: text,
  account_id: text,
  role,
  email: nullable(text),
  member_id: described(nullable(text), 'set if it resets the password of an existing member'),
  created_by: described(nullable(text), 'null for the operator'),
  created_at: moment,
  expires_at: moment,
}
/** A one-time link that still works: for a new member, or for a member's new password. */
const invitation = object(invitationMembers)
export type Invitation = Described<typeof invitation>
/** The link itself appears in one response only. */
const issuedInvitation = object({ ...invitationMembers, url: text })
export type IssuedInvitation = Described<typeof issuedInvitation>

export const auditActions = [
  'sign_in.succeeded',
  'sign_in.failed',
  'password.changed',
  'password.reset',
  'password.reset_requested',
  'invitation.created',
  'invitation.revoked',
  'invitation.accepted',
  'invitation.refused',
  'member.changed',
  'key.created',
  'key.changed',
  'key.rotated',
  'key.revoked',
  'account.created',
  'account.changed',
  'worker.drained',
  'worker.undrained',
  'prices.changed',
  'budget.changed',
] as const
export type AuditAction = (typeof auditActions)[number]

const auditEvent = object({
  id: count,
  at: moment,
  action: choice(...auditActions),
  account_id: nullable(text),
  actor_id: described(
    nullable(text),
    'a member, `operator`, or null for a client that is not signed in',
  ),
  actor_name: nullable(text),
  subject_id: nullable(text),
  subject_name: text,
  details: anything,
  address: described(
    nullable(text),
    'null for operators of the deployment, when shown to others, and for failed sign-ins to an e-mail address that several accounts have',
  ),
  times: described(count, 'how often it happened until `last_at`'),
  last_at: moment,
})
export type AuditEntry = Described<typeof auditEvent>

const account = object({
  id: text,
  name: text,
  operates: truth,
  created_at: moment,
  disabled_at: nullable(moment),
  limits,
  member_limits: described(limits, 'for all keys of one member combined'),
  member_key_days: nullable(count),
  email_domains: described(
    list(text),
    'addresses in these domains are reserved for members of this account',
  ),
})
export type Account = Described<typeof account>

const servedModel = object(
  {
    id: text,
    object: choice('model'),
    type: choice('model'),
    created: count,
    created_at: moment,
    owned_by: text,
    display_name: text,
    tasks: list(text),
    workers: count,
  },
  { context_length: count, input_modalities: list(text) },
)
export type ServedModel = Described<typeof servedModel>

const worker = object({
  id: text,
  url: text,
  models: list(text),
  capacity: count,
  active: count,
  draining: truth,
  registered_at: moment,
  lease_until: moment,
})
export type Worker = Described<typeof worker>

const drainEffect = object({
  remaining: described(count, 'machines that still serve requests'),
  unserved_models: described(list(text), 'models that no other machine serves'),
})
export type DrainEffect = Described<typeof drainEffect>

const tokens = { prompt_tokens: count, cached_tokens: count, completion_tokens: count }
const cost = described(count, 'in millionths of the currency')

const usageSum = object(
  {
    time: nullable(moment),
    requests: count,
    ...tokens,
    duration_ms: count,
    up_to_300_ms: described(
      count,
      'requests that took at most this long: each count includes those before it',
    ),
    up_to_1_s: count,
    up_to_3_s: count,
    up_to_10_s: count,
    up_to_30_s: count,
    up_to_100_s: count,
    cost_micros: cost,
  },
  {
    key_id: text,
    member_id: described(nullable(text), 'null for keys that the operator made'),
    model: text,
    path: text,
    outcome: text,
    account_id: text,
  },
)
/** Sums for one slot of time and one group; it has the members that it was grouped by. */
export type UsageSum = Described<typeof usageSum>

const usageRow = object({
  request_id: text,
  admission_id: text,
  started_at: moment,
  account_id: text,
  key_id: text,
  worker_id: text,
  model: text,
  path: text,
  outcome: choice('complete', 'aborted', 'failed', 'lost'),
  status: count,
  ...tokens,
  duration_ms: count,
  cost_micros: cost,
})
/** One billed request. */
export type BilledRequest = Described<typeof usageRow>

const modelPrice = object({
  model: text,
  input_micros: described(count, 'for a million tokens, in millionths of the currency'),
  cached_micros: described(count, 'for input tokens that came from the prompt cache'),
  output_micros: count,
})
export type ModelPrice = Described<typeof modelPrice>

/** The prices in force. Requests cost what they did when they started. */
const prices = object({
  currency: described(nullable(text), 'ISO 4217, such as `EUR`; null until prices are set'),
  models: list(modelPrice),
})
export type Prices = Described<typeof prices>

/** What an account or a key should cost in this month (UTC) at most, and what it has cost. */
const budget = object({
  subject_id: described(text, 'an account or a key'),
  account_id: text,
  name: text,
  kind: choice('account', 'key'),
  budget_micros: nullable(count),
  spent_micros: count,
})
export type Budget = Described<typeof budget>

/** A page of a longer list: `next` is the cursor of the next one. */
const auditPage = object({ events: list(auditEvent), next: nullable(count) })
const usagePage = object({ requests: list(usageRow), next: nullable(text) })

const error = object({
  error: object({
    message: text,
    type: text,
    param: nullable(text),
    code: text,
    retryable: truth,
  }),
})

/** By their names in the OpenAPI document. */
export const adminSchemas = {
  Key: key,
  IssuedKey: issuedKey,
  Account: account,
  Member: member,
  Session: session,
  OwnSession: ownSession,
  Invitation: invitation,
  IssuedInvitation: issuedInvitation,
  AuditEvent: auditEvent,
  ServedModel: servedModel,
  Worker: worker,
  DrainEffect: drainEffect,
  UsageSum: usageSum,
  UsageRow: usageRow,
  Prices: prices,
  Budget: budget,
  AccountList: object({ accounts: list(account) }),
  AuditPage: auditPage,
  BudgetList: object({ budgets: list(budget) }),
  DrainState: object({ draining: truth }),
  InvitationList: object({ invitations: list(invitation) }),
  KeyList: object({ keys: list(key) }),
  MemberList: object({ members: list(member) }),
  ModelList: object({ models: list(servedModel) }),
  SignInWays: object({ oidc: truth }),
  UsagePage: usagePage,
  UsageSums: object({ rows: list(usageSum) }),
  WorkerList: object({ workers: list(worker) }),
  Error: error,
} as const
