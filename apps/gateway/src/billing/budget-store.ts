/**
 * Monthly budgets of accounts and keys, with what this month (UTC) has cost so far. Budgets only
 * warn; `limits/` refuses.
 */
import type { Budget } from '@privatemode/protocol/fleet'
import type { Queries, Row } from '../state/database.ts'

/** Accounts and keys that a budget can be for, by id. */
const subjects = `(
  select id, id as account_id, name, 'account' as kind from accounts
  union all select id, account_id, name, 'key' from api_keys) as s`

const budgetRows = `
  select s.id as subject_id, s.account_id, s.name, s.kind, b.budget_micros,
    coalesce(m.cost_micros, 0) as spent_micros
  from ${subjects} left join budgets b on b.subject = s.id
    left join usage_monthly m on m.subject = s.id
      and m.month = date_trunc('month', now() at time zone 'UTC')::date`

/** The account, whether it has a budget or not, and those of its keys that have one. */
export async function listBudgets(queries: Queries, accountId: string): Promise<Budget[]> {
  const rows = await queries.query<Row & Budget>(
    `${budgetRows} where s.account_id = $1 and (s.kind = 'account' or b.budget_micros is not null)
     order by s.kind, s.name, s.id`,
    [accountId],
  )
  return rows
}

/** Undefined where there is neither an account nor a key with this id. */
export async function findBudget(queries: Queries, id: string): Promise<Budget | undefined> {
  const [row] = await queries.query<Row & Budget>(`${budgetRows} where s.id = $1`, [id])
  return row
}

/** Null takes the budget away. */
export async function setBudget(
  queries: Queries,
  { subject_id, account_id }: Budget,
  budgetMicros: number | null,
): Promise<void> {
  if (budgetMicros === null) {
    await queries.query('delete from budgets where subject = $1', [subject_id])
    return
  }
  await queries.query(
    `insert into budgets (subject, account_id, budget_micros) values ($1, $2, $3)
     on conflict (subject) do update set budget_micros = excluded.budget_micros`,
    [subject_id, account_id, budgetMicros],
  )
}
