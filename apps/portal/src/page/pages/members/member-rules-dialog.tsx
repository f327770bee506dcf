/** Limits for members' keys and, for operators, the account's e-mail domains. */
import type { Account } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Field } from '../../view/field.tsx'
import { FormDialog } from '../../view/form-dialog.tsx'
import { LimitFields, limitNumbers, limitTexts, numberOrNone } from '../../view/limit-fields.tsx'

type MemberRulesDialogProps = {
  readonly account: Account
  /** Only operators assign domains: otherwise an account could claim another's addresses. */
  readonly operates: boolean
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}

export function MemberRulesDialog(props: MemberRulesDialogProps) {
  const { account, operates, onClose, onChanged } = props
  const [limits, setLimits] = useState(() => limitTexts(account.member_limits))
  const [keyDays, setKeyDays] = useState(account.member_key_days?.toString() ?? '')
  const [domains, setDomains] = useState(account.email_domains.join(', '))
  const submission = useSubmit(async () => {
    await callApi('PATCH', `/accounts/${account.id}`, {
      member_limits: limitNumbers(limits),
      member_key_days: numberOrNone(keyDays),
      ...(operates && { email_domains: domains.split(/[\s,]+/).filter((name) => name !== '') }),
    })
    await onChanged()
    onClose()
  })
  return (
    <FormDialog
      {...submission}
      title="Rules for members"
      action="Save"
      failed="The rules were not saved"
      onClose={onClose}
    >
      <p>Limits count all keys of one member together. Admins are not bound by them.</p>
      <LimitFields limits={limits} onLimits={setLimits} />
      <Field
        label="Days that a key lasts"
        type="number"
        min="1"
        placeholder="no limit"
        sayOptional={false}
        value={keyDays}
        onValue={setKeyDays}
        hint="For keys that members create or extend from now on."
      />
      {operates && (
        <Field
          label="E-mail domains"
          placeholder="example.com, example.org"
          value={domains}
          onValue={setDomains}
          hint="Nobody else can invite addresses in these, and people sign in through your identity provider with them."
        />
      )}
    </FormDialog>
  )
}
