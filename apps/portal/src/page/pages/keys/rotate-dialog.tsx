/** Gives a key a new secret; the old one can go on for a while. */
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import type { IssuedKey, Key } from '../../api/wire.ts'
import { useSubmit } from '../../submit.ts'
import { Button } from '../../view/button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'

type RotateDialogProps = {
  readonly subject: Key
  readonly onClose: () => void
  readonly onIssued: (issued: IssuedKey) => Promise<void>
}

type Overlap = '0' | '3600' | '86400' | '604800'

export function RotateDialog({ subject, onClose, onIssued }: RotateDialogProps) {
  const [overlap, setOverlap] = useState<Overlap>('86400')
  const { busy, error, submit } = useSubmit(async () => {
    const body = { overlap_seconds: Number(overlap) }
    await onIssued(await callApi<IssuedKey>('POST', `/keys/${subject.id}/rotate`, body))
  })
  return (
    <Dialog title={`Rotate “${subject.name}”`} onClose={onClose}>
      <form onSubmit={submit}>
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
        {error !== undefined && <Failure error={error} what="The key was not rotated" />}
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={busy}>
            Rotate
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
