import { expect, test } from 'bun:test'
import type { Budget } from '@privatemode/protocol/fleet'
import { budgetState, describeBudget } from './budget-state.ts'
import { formatMoney, moneyText, parseMoney } from './money.ts'

test('an amount is typed and shown to the last millionth', () => {
  for (const [text, micros] of [
    ['0', 0],
    ['0.15', 150_000],
    ['10', 10_000_000],
    ['100000.000001', 100_000_000_001],
    ['0.000001', 1],
  ] as const) {
    expect(parseMoney(text)).toBe(micros)
    expect(moneyText(micros)).toBe(text)
  }
  for (const text of ['', '-1', '1,5', '1.0000001', '1e3', '.5', '10000000']) {
    expect(parseMoney(text)).toBeUndefined()
  }
})

test('small costs keep their digits, large ones have two', () => {
  expect(formatMoney(0, 'EUR')).toBe('€0.00')
  expect(formatMoney(12, 'EUR')).toBe('€0.000012')
  expect(formatMoney(1_234_567_890, 'USD')).toBe('$1,234.57')
})

test('a warning comes at four fifths of a budget, and says when it is used up', () => {
  const budget = (spent_micros: number, budget_micros: number | null = 10_000_000): Budget => ({
    ...{ subject_id: 'key_1', account_id: 'acct_1', name: 'reports', kind: 'key' },
    ...{ budget_micros, spent_micros },
  })
  expect(
    [0, 7_999_999, 8_000_000, 9_999_999, 10_000_000].map((spent) => budgetState(budget(spent))),
  ).toEqual(['within', 'within', 'near', 'near', 'over'])
  expect(budgetState(budget(5, null))).toBe('none')
  // Never a hundred per cent before it is so.
  expect(describeBudget(budget(9_999_999), 'EUR')).toContain('99 %')
  expect(describeBudget(budget(8_500_000), 'EUR')).toBe(
    'The key “reports” has used 85 % of this month’s budget: €8.50 of €10.00.',
  )
})
