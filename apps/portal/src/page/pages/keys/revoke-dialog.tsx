/** Asks for confirmation before a key is revoked, which cannot be undone. */
import type { Key } from '@privatemode/protocol/fleet'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { FormDialog } from '../../view/form-dialog.tsx'

type RevokeDialogProps = {
  readonly subject: Key
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}

export function RevokeDialog({ subject, onClose, onChanged }: RevokeDialogProps) {
  const submission = useSubmit(async () => {
    await callApi('DELETE', `/keys/${subject.id}`)
    await onChanged()
  })
  return (
    <FormDialog
      {...submission}
      title={`Revoke “${subject.name}”?`}
      action="Revoke"
      dangerous
      leave="Keep it"
      failed="The key was not revoked"
      onClose={onClose}
    >
      <p>
        Programs with the key <code>{subject.prefix}…</code> are refused within two seconds, on
        every gateway. A revoked key cannot be brought back; its usage stays visible.
      </p>
    </FormDialog>
  )
}
