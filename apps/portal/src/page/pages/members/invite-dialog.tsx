/** Creates a one-time link and shows it, only this once. */
import type { IssuedInvitation, Role } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Button } from '../../view/button.tsx'
import { CodeBlock } from '../../view/code-block.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Choice, Field } from '../../view/field.tsx'
import { FormDialog } from '../../view/form-dialog.tsx'
import { Moment } from '../../view/moment.tsx'
import { Notice } from '../../view/notice.tsx'

export type ShownLink = {
  readonly invitation: IssuedInvitation
  readonly title: string
  /** What the page opened by the link asks for. */
  readonly hint: 'reset' | { readonly email: string | undefined }
}

type InviteDialogProps = {
  readonly onClose: () => void
  readonly onInvited: (shown: ShownLink) => void
}

export function InviteDialog({ onClose, onInvited }: InviteDialogProps) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const submission = useSubmit(async () => {
    const invited = email.trim() === '' ? undefined : email.trim()
    const body = { role, email: invited ?? null }
    const invitation = await callApi<IssuedInvitation>('POST', '/invitations', body)
    onInvited({ invitation, hint: { email: invited }, title: 'Invitation' })
  })
  return (
    <FormDialog
      {...submission}
      title="Invite someone"
      action="Make a link"
      failed="No invitation was made"
      onClose={onClose}
    >
      <Field
        label="E-mail"
        type="email"
        focused
        value={email}
        onValue={setEmail}
        hint="If you name one, the link works for this address only."
      />
      <Choice
        label="Role"
        value={role}
        onValue={setRole}
        options={[
          ['member', 'Member: own keys, usage of the account'],
          ['admin', 'Admin: members, limits and all keys, too'],
        ]}
      />
    </FormDialog>
  )
}

export function LinkDialog({ shown, onClose }: { shown: ShownLink; onClose: () => void }) {
  return (
    <Dialog title={shown.title} sticky onClose={onClose}>
      <Notice kind="warn" title="Send this link to the person it is for, and to nobody else.">
        <p>
          It works once, until <Moment iso={shown.invitation.expires_at} />, and is shown this one
          time. This system sends no e-mail.
        </p>
      </Notice>
      <CodeBlock text={linkWithHint(shown)} what="link" />
      <div class="row end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}

function linkWithHint({ invitation, hint }: ShownLink): string {
  if (hint === 'reset') return `${invitation.url}&reset`
  return hint.email === undefined
    ? invitation.url
    : `${invitation.url}&email=${encodeURIComponent(hint.email)}`
}
