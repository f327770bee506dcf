/** Asks before a key is revoked: that cannot be taken back. */
import { callApi } from '../../api/call-api.ts'
import type { Key } from '../../api/wire.ts'
import { useSubmit } from '../../submit.ts'
import { Button } from '../../view/button.tsx'
import { Dialog } from '../../view/dialog.tsx'
import { Failure } from '../../view/failure.tsx'

type RevokeDialogProps = {
  readonly subject: Key
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}

export function RevokeDialog({ subject, onClose, onChanged }: RevokeDialogProps) {
  const { busy, error, submit } = useSubmit(async () => {
    await callApi('DELETE', `/keys/${subject.id}`)
    await onChanged()
  })
  return (
    <Dialog title={`Revoke “${subject.name}”?`} onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          Programs with the key <code>{subject.prefix}…</code> are refused within two seconds, on
          every gateway. A revoked key cannot be brought back; its usage stays visible.
        </p>
        {error !== undefined && <Failure error={error} what="The key was not revoked" />}
        <div class="row end">
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" type="submit" busy={busy}>
            Revoke
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
