/** The form that creates or changes a key. */
import type { IssuedKey, Key } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Choice, Field } from '../../view/field.tsx'
import { FormDialog } from '../../view/form-dialog.tsx'
import { LimitFields, limitNumbers, limitTexts } from '../../view/limit-fields.tsx'

type KeyFormProps = {
  readonly mayLimit: boolean
  readonly onClose: () => void
} & (
  | { readonly existing?: never; readonly onIssued: (issued: IssuedKey) => Promise<void> }
  | { readonly existing: Key; readonly onChanged: () => Promise<void> }
)

type Expiry = 'keep' | 'never' | '30' | '90' | '365' | 'date'

const expiries: readonly (readonly [Expiry, string])[] = [
  ['never', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['date', 'On a date'],
]

export function KeyForm(props: KeyFormProps) {
  const { existing, mayLimit, onClose } = props
  const [name, setName] = useState(existing?.name ?? '')
  const [expiry, setExpiry] = useState<Expiry>(existing === undefined ? '90' : 'keep')
  const [date, setDate] = useState('')
  const [limits, setLimits] = useState(() => limitTexts(existing?.limits))
  const submission = useSubmit(async () => {
    const body = {
      name,
      ...(expiry === 'keep' ? {} : { expires_at: expiryTime(expiry, date) }),
      ...(mayLimit ? { limits: limitNumbers(limits) } : {}),
    }
    if (props.existing === undefined) {
      await props.onIssued(await callApi<IssuedKey>('POST', '/keys', body))
    } else {
      await callApi('PATCH', `/keys/${props.existing.id}`, body)
      await props.onChanged()
    }
  })
  const keep: readonly (readonly [Expiry, string])[] =
    existing === undefined ? [] : [['keep', 'As it is']]
  return (
    <FormDialog
      {...submission}
      title={existing === undefined ? 'Create a key' : 'Change the key'}
      action={existing === undefined ? 'Create key' : 'Save'}
      failed="The key was not saved"
      onClose={onClose}
    >
      <Field
        label="Name"
        required
        focused
        maxLength={100}
        value={name}
        onValue={setName}
        hint="What it is for, such as “nightly reports”."
      />
      <Choice label="Expires" value={expiry} onValue={setExpiry} options={[...keep, ...expiries]} />
      {expiry === 'date' && (
        <Field
          label="Last day"
          type="date"
          required
          min={new Date().toISOString().slice(0, 10)}
          value={date}
          onValue={setDate}
        />
      )}
      {mayLimit && (
        <details>
          <summary>Limits</summary>
          <LimitFields limits={limits} onLimits={setLimits} />
        </details>
      )}
    </FormDialog>
  )
}

function expiryTime(expiry: Exclude<Expiry, 'keep'>, date: string): string | null {
  switch (expiry) {
    case 'never':
      return null
    case 'date':
      return new Date(`${date}T23:59:59`).toISOString()
    case '30':
    case '90':
    case '365':
      return new Date(Date.now() + Number(expiry) * 86_400_000).toISOString()
  }
}
