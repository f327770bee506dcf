/** Prices of models, and budgets of accounts and keys. */
import { ApiError } from '@privatemode/protocol/api'
import { adminSchemas, type Budget } from '@privatemode/protocol/fleet'
import { findBudget, listBudgets, setBudget } from '../../billing/budget-store.ts'
import { readPrices, setPrices } from '../../billing/price-store.ts'
import { type Actor, accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminCall, type AdminRoute, route } from '../admin-route.ts'
import { currencyCode, optional, priceList, text, wholeNumber } from '../fields.ts'
import { recorded } from '../recorded.ts'

const { Prices: prices, Budget: budget } = adminSchemas

export const billingRoutes: readonly AdminRoute[] = [
  route('GET /prices', {
    summary: 'Read the prices in force',
    answer: prices,
    handle: ({ parts }) => readPrices(parts.database),
  }),
  route('PUT /prices', {
    summary:
      'Set the prices of all models for requests that start from now on; a model that is left out costs nothing',
    body: { currency: currencyCode(), models: priceList(1000) },
    answer: prices,
    async handle(call) {
      const { actor, body } = call
      insist(mayOperate(actor))
      return recorded(call, 'prices.changed', async (queries) => {
        const { prices, changed } = await setPrices(queries, body.currency, body.models)
        const details = { currency: body.currency, micros_per_million_tokens: changed }
        return { value: prices, about: { accountId: null, id: null, name: 'prices', details } }
      })
    },
  }),
  route('GET /budgets', {
    summary: "List an account's budgets and what this month (UTC) has cost",
    query: { account: optional(text(1, 64)) },
    answer: adminSchemas.BudgetList,
    async handle({ parts, actor, query }) {
      const accountId = accountOf(actor, query.account)
      insist(maySee(actor, accountId), false)
      return { budgets: await listBudgets(parts.database, accountId) }
    },
  }),
  route('PUT /budgets/{id}', {
    summary: 'Set the monthly budget of an account or a key; it warns and refuses nothing',
    body: { budget_micros: wholeNumber(1, 1e15) },
    answer: budget,
    handle: (call) => change(call, call.body.budget_micros),
  }),
  route('DELETE /budgets/{id}', {
    summary: 'Take the budget of an account or a key away',
    answer: budget,
    handle: (call) => change(call, null),
  }),
]

async function change(
  call: AdminCall<unknown, unknown, Actor>,
  budgetMicros: number | null,
): Promise<Budget> {
  const { parts, actor, params } = call
  const found = await findBudget(parts.database, params.id ?? '')
  if (found === undefined) throw new ApiError('not_found', 'there is no such account or key')
  insist(mayAdminister(actor, found.account_id), maySee(actor, found.account_id))
  return recorded(call, 'budget.changed', async (queries) => {
    await setBudget(queries, found, budgetMicros)
    const value: Budget = { ...found, budget_micros: budgetMicros }
    const { account_id, subject_id, kind, name } = found
    const details = { of: kind, budget_micros: budgetMicros }
    return { value, about: { accountId: account_id, id: subject_id, name, details } }
  })
}
