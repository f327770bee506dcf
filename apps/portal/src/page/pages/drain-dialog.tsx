/** Asks for confirmation before a machine is drained, and shows the effect. */
import type { DrainEffect, Worker } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../api/call-api.ts'
import { useLoad } from '../load.ts'
import { useSubmit } from '../submit.ts'
import { Failure } from '../view/failure.tsx'
import { FormDialog } from '../view/form-dialog.tsx'
import { Notice } from '../view/notice.tsx'
import { Waiting } from '../view/waiting.tsx'

type DrainDialogProps = {
  readonly worker: Worker
  readonly onClose: () => void
  readonly onDrained: () => Promise<void>
}

export function DrainDialog({ worker, onClose, onDrained }: DrainDialogProps) {
  const path = `/workers/${worker.id}/drain`
  const [effect, reload] = useLoad(() => callApi<DrainEffect>('GET', path), [worker.id])
  const [override, setOverride] = useState(false)
  const submission = useSubmit(async () => {
    await callApi('POST', path, { override })
    await onDrained()
  })
  return (
    <FormDialog
      {...submission}
      title={`Drain ${worker.id}?`}
      action="Drain"
      dangerous
      failed="The machine was not drained"
      onClose={onClose}
    >
      <p>
        New requests go to the other machines; running ones finish here. You can put the machine
        back into service at any time.
      </p>
      {effect.kind === 'loading' && <Waiting what="the other machines" lines={1} />}
      {effect.kind === 'failed' && (
        <Failure error={effect.error} what="The effect is unknown" onRetry={reload} />
      )}
      {effect.kind === 'ready' && <p>{describeRest(effect.value.remaining)}</p>}
      {effect.kind === 'ready' && effect.value.unserved_models.length > 0 && (
        <>
          <Notice kind="warn" title="No other machine serves these models.">
            <p>
              Requests for {effect.value.unserved_models.join(', ')} will fail until another machine
              joins.
            </p>
          </Notice>
          <label class="check">
            <input
              type="checkbox"
              checked={override}
              required
              onChange={(event) => setOverride(event.currentTarget.checked)}
            />
            Drain it anyway
          </label>
        </>
      )}
    </FormDialog>
  )
}

function describeRest(remaining: number): string {
  if (remaining === 0) return 'No machine remains in service.'
  return remaining === 1
    ? 'One machine remains in service.'
    : `${remaining} machines remain in service.`
}
