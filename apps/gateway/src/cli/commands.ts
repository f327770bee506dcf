/** The shell commands, as calls to the admin API. */
import { GatewayError } from '../gateway-error.ts'
import { parseAmount, parsePrices } from './amounts.ts'

export type CommandValues = {
  readonly name: string | undefined
  readonly account: string | undefined
  readonly email: string | undefined
  readonly role: 'admin' | 'member' | undefined
  readonly expiresAt: string | undefined
  readonly id: string | undefined
  readonly overlapSeconds: number | undefined
  readonly keyDays: number | undefined
  readonly requestsPerMinute: number | undefined
  readonly tokensPerMinute: number | undefined
  readonly tokensPerMonth: number | undefined
  readonly concurrentStreams: number | undefined
  readonly key: string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  readonly step: string
  readonly by: string | undefined
  readonly format: string
  readonly domains: string | undefined
  readonly override: boolean
  readonly currency: string | undefined
  readonly prices: string | undefined
  readonly amount: string | undefined
}

export type AdminRequest = {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: Readonly<Record<string, unknown>>
}

type Command = {
  readonly help: string
  readonly call: (values: CommandValues) => AdminRequest
  /** Previews the effect of the call; made instead of it until `--yes` is given. */
  readonly ask?: (values: CommandValues) => AdminRequest
}

export const commands: Readonly<Record<string, Command>> = {
  'keys create': {
    help: 'create an API key (--name, --account, --expiresAt, limits); prints the secret once',
    call: (values) => ({
      method: 'POST',
      path: 'keys',
      body: {
        name: needed('name', values.name),
        account_id: values.account,
        expires_at: expiryOf(values),
        limits: limitsOf(values),
      },
    }),
  },
  'keys list': {
    help: 'list API keys (--account)',
    call: ({ account }) => ({ method: 'GET', path: 'keys', query: { account } }),
  },
  'keys change': {
    help: 'change the name or expiry of an API key (--id, --name, --expiresAt)',
    call: (values) => ({
      method: 'PATCH',
      path: `keys/${idOf(values)}`,
      body: given({ name: values.name, expires_at: expiryOf(values) }),
    }),
  },
  'keys limit': {
    help: 'set the limits of an API key (--id, limits); omitted ones are unlimited',
    call: (values) => ({
      method: 'PATCH',
      path: `keys/${idOf(values)}`,
      body: { limits: limitsOf(values) ?? null },
    }),
  },
  'keys rotate': {
    help: 'give an API key a new secret (--id, --overlapSeconds)',
    call: (values) => ({
      method: 'POST',
      path: `keys/${idOf(values)}/rotate`,
      body: { overlap_seconds: values.overlapSeconds },
    }),
  },
  'keys revoke': {
    help: 'revoke an API key (--id)',
    call: (values) => ({ method: 'DELETE', path: `keys/${idOf(values)}` }),
  },
  'accounts create': {
    help: 'create an account (--name, limits)',
    call: (values) => ({
      method: 'POST',
      path: 'accounts',
      body: { name: needed('name', values.name), limits: limitsOf(values) },
    }),
  },
  'accounts list': { help: 'list accounts', call: () => ({ method: 'GET', path: 'accounts' }) },
  'accounts limit': {
    help: 'set the limits of an account (--id, limits); omitted ones are unlimited',
    call: (values) => ({
      method: 'PATCH',
      path: `accounts/${idOf(values)}`,
      body: { limits: limitsOf(values) ?? null },
    }),
  },
  'members limit': {
    help: 'limit the keys of each member (--account, limits, --keyDays); omitted ones are unlimited',
    call: (values) => ({
      method: 'PATCH',
      path: `accounts/${encodeURIComponent(values.account ?? 'acct_default')}`,
      body: { member_limits: limitsOf(values) ?? null, member_key_days: values.keyDays ?? null },
    }),
  },
  'accounts domains': {
    help: "set the e-mail domains of an account's members (--id, --domains a.example,b.example or none)",
    call: (values) => ({
      method: 'PATCH',
      path: `accounts/${idOf(values)}`,
      body: {
        email_domains: needed('domains', values.domains)
          .split(',')
          .filter((domain) => domain !== 'none'),
      },
    }),
  },
  'accounts rename': {
    help: 'rename an account (--id, --name)',
    call: (values) => ({
      method: 'PATCH',
      path: `accounts/${idOf(values)}`,
      body: { name: needed('name', values.name) },
    }),
  },
  'accounts disable': {
    help: 'disable an account, its keys and members (--id)',
    call: (values) => switched('accounts', values, true),
  },
  'accounts enable': {
    help: 'undo disable (--id)',
    call: (values) => switched('accounts', values, false),
  },
  'members list': {
    help: 'list members (--account)',
    call: ({ account }) => ({ method: 'GET', path: 'members', query: { account } }),
  },
  'members invite': {
    help: 'create a one-time link for a new member (--role, --account, --email)',
    call: ({ role, account, email }) => ({
      method: 'POST',
      path: 'invitations',
      body: { role: role ?? 'member', account_id: account, email },
    }),
  },
  'invitations list': {
    help: 'list valid invitations and password links (--account)',
    call: ({ account }) => ({ method: 'GET', path: 'invitations', query: { account } }),
  },
  'invitations revoke': {
    help: 'revoke an invitation or a password link (--id)',
    call: (values) => ({ method: 'DELETE', path: `invitations/${idOf(values)}` }),
  },
  'members change': {
    help: 'change the name or role of a member (--id, --name, --role)',
    call: (values) => ({
      method: 'PATCH',
      path: `members/${idOf(values)}`,
      body: given({ name: values.name, role: values.role }),
    }),
  },
  'members reset': {
    help: 'create a one-time link for a new password (--id)',
    call: (values) => ({ method: 'POST', path: `members/${idOf(values)}/reset` }),
  },
  'members disable': {
    help: 'sign a member out and block sign-ins (--id)',
    call: (values) => switched('members', values, true),
  },
  'members enable': {
    help: 'undo disable (--id)',
    call: (values) => switched('members', values, false),
  },
  'usage sum': {
    help: 'sum usage (--from, --to, --step, --by key,model,…, --account, --key)',
    call: (values) => ({
      method: 'GET',
      path: 'usage',
      query: { ...rangeOf(values), step: values.step, by: values.by },
    }),
  },
  'usage export': {
    help: 'print single requests as CSV (--from, --to, --account, --key)',
    call: (values) => ({ method: 'GET', path: 'usage/export.csv', query: rangeOf(values) }),
  },
  'prices list': {
    help: 'list prices for a million tokens, in millionths of the currency',
    call: () => ({ method: 'GET', path: 'prices' }),
  },
  'prices set': {
    help: 'set the prices of all models from now on (--currency, --prices)',
    call: (values) => ({
      method: 'PUT',
      path: 'prices',
      body: {
        currency: needed('currency', values.currency),
        models: parsePrices(needed('prices', values.prices)),
      },
    }),
  },
  'budgets list': {
    help: 'list budgets and what this month has cost (--account)',
    call: ({ account }) => ({ method: 'GET', path: 'budgets', query: { account } }),
  },
  'budgets set': {
    help: 'set the monthly budget of an account or a key (--id, --amount); it warns, no more',
    call: (values) => ({
      method: 'PUT',
      path: `budgets/${idOf(values)}`,
      body: { budget_micros: parseAmount(needed('amount', values.amount)) },
    }),
  },
  'budgets remove': {
    help: 'remove a budget (--id)',
    call: (values) => ({ method: 'DELETE', path: `budgets/${idOf(values)}` }),
  },
  'audit list': {
    help: 'list the newest entries of the audit log (--account, --from, --to)',
    call: ({ account, from, to }) => ({
      method: 'GET',
      path: 'audit',
      query: { account, from, to },
    }),
  },
  'audit export': {
    help: 'print the whole audit log (--format, --account, --from, --to)',
    call: ({ account, from, to, format }) => ({
      method: 'GET',
      path: 'audit/export',
      query: { account, from, to, format },
    }),
  },
  'workers list': { help: 'list workers', call: () => ({ method: 'GET', path: 'workers' }) },
  'workers drain': {
    help: 'stop sending requests to a worker (--id, --yes); --override if no other worker serves its models',
    ask: (values) => ({ method: 'GET', path: `workers/${idOf(values)}/drain` }),
    call: (values) => ({
      method: 'POST',
      path: `workers/${idOf(values)}/drain`,
      body: { override: values.override },
    }),
  },
  'workers undrain': {
    help: 'undo drain (--id)',
    call: (values) => ({ method: 'DELETE', path: `workers/${idOf(values)}/drain` }),
  },
  'models list': { help: 'list models', call: () => ({ method: 'GET', path: 'models' }) },
}

function limitsOf(values: CommandValues): Record<string, number | undefined> | undefined {
  const limits = {
    requests_per_minute: values.requestsPerMinute,
    tokens_per_minute: values.tokensPerMinute,
    tokens_per_month: values.tokensPerMonth,
    concurrent_streams: values.concurrentStreams,
  }
  return Object.values(limits).every((limit) => limit === undefined) ? undefined : limits
}

function switched(what: 'accounts' | 'members', values: CommandValues, disabled: boolean) {
  return { method: 'PATCH', path: `${what}/${idOf(values)}`, body: { disabled } }
}

function rangeOf(values: CommandValues): Record<string, string | undefined> {
  return {
    from: needed('from', values.from),
    to: needed('to', values.to),
    account: values.account,
    key: values.key,
  }
}

/** `never` removes the expiry; without the flag it stays unchanged. */
function expiryOf({ expiresAt }: CommandValues): string | null | undefined {
  return expiresAt === 'never' ? null : expiresAt
}

/** A change without any field is a mistake. */
function given(body: Record<string, unknown>): Record<string, unknown> {
  if (Object.values(body).some((value) => value !== undefined)) return body
  throw new GatewayError('settings_contradict', 'there is nothing to change; see --help')
}

const idOf = (values: CommandValues) => encodeURIComponent(needed('id', values.id))

function needed(flag: string, value: string | undefined): string {
  if (value !== undefined) return value
  throw new GatewayError('settings_contradict', `--${flag} is missing`)
}
