/** How a month stands against its budget. */
import type { Budget } from '@privatemode/protocol/fleet'
import { formatShare } from '../words/format-time.ts'
import { formatMoney } from './money.ts'

/** Of the budget; from here on there is a warning. */
export const warningShare = 0.8

export type BudgetState = 'none' | 'within' | 'near' | 'over'

export function budgetState({ budget_micros, spent_micros }: Budget): BudgetState {
  if (budget_micros === null) return 'none'
  if (spent_micros >= budget_micros) return 'over'
  return spent_micros >= budget_micros * warningShare ? 'near' : 'within'
}

/** `Key "nightly reports" has used 85 % of this month's budget: €8.50 of €10.00.` */
export function describeBudget(budget: Budget, currency: string): string {
  const { kind, name, budget_micros, spent_micros } = budget
  const who = kind === 'account' ? 'Your account' : `The key “${name}”`
  const used = formatShare(Math.floor((spent_micros / (budget_micros ?? 1)) * 100) / 100)
  const amounts = `${formatMoney(spent_micros, currency)} of ${formatMoney(budget_micros ?? 0, currency)}`
  return `${who} has used ${used} of this month’s budget: ${amounts}.`
}
