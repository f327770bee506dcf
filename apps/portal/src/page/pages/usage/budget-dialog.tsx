/** Sets the monthly budget of the account or of one key, or takes it away. */
import type { Budget } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { moneyText, parseMoney } from '../../../usage/money.ts'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Choice, Field } from '../../view/field.tsx'
import { FormDialog } from '../../view/form-dialog.tsx'

type BudgetDialogProps = {
  readonly subject: string
  readonly budgets: readonly Budget[]
  readonly keyNames: ReadonlyMap<string, string>
  readonly currency: string
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}

export function BudgetDialog(props: BudgetDialogProps) {
  const { budgets, keyNames, currency, onClose, onChanged } = props
  const amountOf = (id: string) => {
    const micros = budgets.find(({ subject_id }) => subject_id === id)?.budget_micros ?? null
    return micros === null ? '' : moneyText(micros)
  }
  const [subject, setSubject] = useState(props.subject)
  const [amount, setAmount] = useState(() => amountOf(props.subject))
  const submission = useSubmit(async () => {
    const micros = parseMoney(amount)
    await (amount.trim() === ''
      ? callApi('DELETE', `/budgets/${subject}`)
      : callApi('PUT', `/budgets/${subject}`, { budget_micros: micros ?? null }))
    await onChanged()
    onClose()
  })
  const account = budgets.find(({ kind }) => kind === 'account')?.subject_id ?? ''
  return (
    <FormDialog
      {...submission}
      title="Monthly budget"
      action="Save"
      failed="The budget was not saved"
      onClose={onClose}
    >
      <Choice
        label="Budget of"
        value={subject}
        options={[[account, 'Whole account'], ...keyNames]}
        onValue={(id) => {
          setSubject(id)
          setAmount(amountOf(id))
        }}
      />
      <Field
        label={`Amount per month, in ${currency}`}
        placeholder="no budget"
        pattern="\d{1,6}(\.\d{1,6})?"
        inputMode="decimal"
        sayOptional={false}
        focused
        value={amount}
        onValue={setAmount}
        hint="Such as 250 or 0.50. There is a warning at 80 %; requests are never stopped. Months are those of UTC."
      />
    </FormDialog>
  )
}
