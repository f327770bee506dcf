/** Gives a key a new secret; the old one can stay valid for a while. */
import type { IssuedKey, Key } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Choice } from '../../view/field.tsx'
import { FormDialog } from '../../view/form-dialog.tsx'

type RotateDialogProps = {
  readonly subject: Key
  readonly onClose: () => void
  readonly onIssued: (issued: IssuedKey) => Promise<void>
}

type Overlap = '0' | '3600' | '86400' | '604800'

export function RotateDialog({ subject, onClose, onIssued }: RotateDialogProps) {
  const [overlap, setOverlap] = useState<Overlap>('86400')
  const submission = useSubmit(async () => {
    const body = { overlap_seconds: Number(overlap) }
    await onIssued(await callApi<IssuedKey>('POST', `/keys/${subject.id}/rotate`, body))
  })
  return (
    <FormDialog
      {...submission}
      title={`Rotate “${subject.name}”`}
      action="Rotate"
      failed="The key was not rotated"
      onClose={onClose}
    >
      <p>The key gets a new secret. Name, limits and usage stay.</p>
      <Choice
        label="The old secret stops working"
        value={overlap}
        onValue={setOverlap}
        options={[
          ['0', 'At once'],
          ['3600', 'In an hour'],
          ['86400', 'In a day'],
          ['604800', 'In a week'],
        ]}
      />
    </FormDialog>
  )
}
