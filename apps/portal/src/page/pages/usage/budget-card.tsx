/** Budgets of the account and of its keys: what this month has cost of them. */
import type { Budget } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { budgetState, describeBudget } from '../../../usage/budget-state.ts'
import { formatMoney } from '../../../usage/money.ts'
import { formatShare } from '../../../words/format-time.ts'
import { Badge } from '../../view/badge.tsx'
import { Button } from '../../view/button.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { Notice } from '../../view/notice.tsx'
import { BudgetDialog } from './budget-dialog.tsx'

type BudgetCardProps = {
  readonly budgets: readonly Budget[]
  readonly currency: string
  readonly keyNames: ReadonlyMap<string, string>
  readonly mayChange: boolean
  readonly onChanged: () => Promise<void>
}

/** What needs care, before anything else on the page. */
export function BudgetWarnings({
  budgets,
  currency,
}: Pick<BudgetCardProps, 'budgets' | 'currency'>) {
  const near = budgets.filter((each) => ['near', 'over'].includes(budgetState(each)))
  if (near.length === 0) return null
  const over = near.some((each) => budgetState(each) === 'over')
  return (
    <Notice
      kind={over ? 'bad' : 'warn'}
      title={over ? 'A budget is used up' : 'A budget is nearly used up'}
    >
      {near.map((each) => (
        <p key={each.subject_id}>{describeBudget(each, currency)}</p>
      ))}
      <p>Requests go on. To stop them, set a limit of tokens per month on the key.</p>
    </Notice>
  )
}

export function BudgetCard({ budgets, currency, keyNames, mayChange, onChanged }: BudgetCardProps) {
  const [edited, setEdited] = useState<string>()
  const set = budgets.filter(({ budget_micros }) => budget_micros !== null)
  const account = budgets.find(({ kind }) => kind === 'account')
  return (
    <section class="card" aria-labelledby="budgets">
      <div class="card-head">
        <h2 id="budgets">Budgets</h2>
        {mayChange && account !== undefined && (
          <Button onClick={() => setEdited(account.subject_id)}>Set a budget</Button>
        )}
      </div>
      {set.length === 0 && (
        <p class="soft">
          No budget is set. A budget warns here at 80 % of what a month should cost; it never stops
          a request.
        </p>
      )}
      {set.length > 0 && (
        <FoldTable columns={['Budget of', 'This month', 'Budget', 'Used']} withActions={mayChange}>
          {set.map((each) => (
            <BudgetRow
              key={each.subject_id}
              budget={each}
              currency={currency}
              onEdit={mayChange ? () => setEdited(each.subject_id) : undefined}
            />
          ))}
        </FoldTable>
      )}
      {edited !== undefined && (
        <BudgetDialog
          subject={edited}
          budgets={budgets}
          keyNames={keyNames}
          currency={currency}
          onClose={() => setEdited(undefined)}
          onChanged={onChanged}
        />
      )}
    </section>
  )
}

type BudgetRowProps = {
  readonly budget: Budget
  readonly currency: string
  readonly onEdit: (() => void) | undefined
}

function BudgetRow({ budget, currency, onEdit }: BudgetRowProps) {
  const { budget_micros, spent_micros, kind, name } = budget
  const share = spent_micros / (budget_micros ?? 1)
  const state = budgetState(budget)
  return (
    <tr>
      <th scope="row">{kind === 'account' ? 'Whole account' : name}</th>
      <td data-label="This month">{formatMoney(spent_micros, currency)}</td>
      <td data-label="Budget">{formatMoney(budget_micros ?? 0, currency)}</td>
      <td data-label="Used">
        <Badge kind={state === 'over' ? 'bad' : state === 'near' ? 'warn' : 'good'}>
          {formatShare(Math.floor(share * 100) / 100)}
        </Badge>
      </td>
      {onEdit !== undefined && (
        <td class="end">
          <Button label={`Change the budget of ${name}`} onClick={onEdit}>
            Change
          </Button>
        </td>
      )}
    </tr>
  )
}
