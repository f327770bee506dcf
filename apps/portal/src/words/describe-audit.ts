/** Describes an audit log entry in words. */
import type { AuditEntry } from '@privatemode/protocol/fleet'
import { formatMoney, moneyText } from '../usage/money.ts'
import { formatCount, formatMoment } from './format-time.ts'

const actions: Readonly<Record<string, string>> = {
  'sign_in.succeeded': 'Signed in',
  'sign_in.failed': 'Failed sign-in',
  'password.changed': 'Changed password',
  'password.reset': 'Set a new password',
  'password.reset_requested': 'Created password link',
  'invitation.created': 'Created invitation',
  'invitation.revoked': 'Revoked invitation',
  'invitation.accepted': 'Accepted invitation',
  'invitation.refused': 'Used an invalid invitation',
  'member.changed': 'Changed member',
  'key.created': 'Created API key',
  'key.changed': 'Changed API key',
  'key.rotated': 'Rotated API key',
  'key.revoked': 'Revoked API key',
  'account.created': 'Created account',
  'account.changed': 'Changed account',
  'worker.drained': 'Drained machine',
  'worker.undrained': 'Put machine back into service',
  'prices.changed': 'Changed prices',
  'budget.changed': 'Changed budget',
}

/** A newer gateway may have actions unknown to this page. */
export const describeAction = (action: string): string => actions[action] ?? action

/** Whether it deserves attention. */
export const isWarning = (action: string): boolean =>
  action === 'sign_in.failed' || action === 'invitation.refused'

const hidden = new Set(['invited_by', 'of'])

/**
 * What changed, such as `role: admin, disabled: yes`; ids are left to the export. Budgets are in
 * `currency`, if it is known; prices say their own.
 */
export function describeDetails(details: AuditEntry['details'], currency?: string | null): string {
  const { micros_per_million_tokens: prices, currency: priced, ...others } = details
  const money = (micros: number) => (currency ? formatMoney(micros, currency) : moneyText(micros))
  return [
    ...(Array.isArray(prices) ? prices.map((price) => describePrice(String(price), priced)) : []),
    ...Object.entries(others)
      .filter(([name]) => !name.endsWith('_id') && !hidden.has(name))
      .flatMap(([name, value]) =>
        name === 'budget_micros' && typeof value === 'number'
          ? [`budget: ${money(value)} a month`]
          : describeValue(name.replace(/_micros$/, '').replaceAll('_', ' '), value),
      ),
  ].join(', ')
}

/** From `MODEL INPUT/CACHED/OUTPUT` in millionths, or `MODEL removed`. */
function describePrice(price: string, currency: unknown): string {
  const [, model, ...amounts] = /^(.+) (\d+)\/(\d+)\/(\d+)$/.exec(price) ?? []
  if (model === undefined || typeof currency !== 'string') return price
  const [input, cached, output] = amounts.map((micros) => formatMoney(Number(micros), currency))
  return `${model}: ${input} input, ${cached} cached input, ${output} output per million tokens`
}

function describeValue(name: string, value: unknown): string[] {
  if (value === null || value === undefined) {
    return [name === 'expires at' ? 'never expires' : `${name}: none`]
  }
  if (Array.isArray(value)) return value.length === 0 ? [] : [`${name}: ${value.join(' ')}`]
  if (typeof value === 'object') {
    const set = Object.entries(value).filter(([, each]) => each !== null)
    return set.flatMap(([inner, each]) => describeValue(inner.replaceAll('_', ' '), each))
  }
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) {
    return [`${name}: ${formatMoment(value)}`]
  }
  if (typeof value === 'boolean') return [`${name}: ${value ? 'yes' : 'no'}`]
  return [`${name}: ${typeof value === 'number' ? formatCount(value) : value}`]
}
