/** The machines behind the gateway, for operators. */
import type { Worker } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../api/call-api.ts'
import { useLoad } from '../load.ts'
import { useSubmit } from '../submit.ts'
import { Badge } from '../view/badge.tsx'
import { Button } from '../view/button.tsx'
import { Failure } from '../view/failure.tsx'
import { FoldTable } from '../view/fold-table.tsx'
import { Moment } from '../view/moment.tsx'
import { Waiting } from '../view/waiting.tsx'
import { DrainDialog } from './drain-dialog.tsx'

export function MachinesSection() {
  const [workers, reload] = useLoad(loadWorkers, [])
  const [drained, setDrained] = useState<Worker>()
  return (
    <section class="card" aria-labelledby="machines">
      <h2 id="machines">Machines</h2>
      {workers.kind === 'loading' && <Waiting what="machines" />}
      {workers.kind === 'failed' && (
        <Failure error={workers.error} what="The machines could not be loaded" onRetry={reload} />
      )}
      {workers.kind === 'ready' && workers.value.length === 0 && (
        <p>No machine has joined. Start a worker with this gateway's address and register token.</p>
      )}
      {workers.kind === 'ready' && workers.value.length > 0 && (
        <FoldTable columns={['Machine', 'Load', 'Joined', 'State']} withActions>
          {workers.value.map((worker) => (
            <MachineRow key={worker.id} worker={worker} onChange={reload} onDrain={setDrained} />
          ))}
        </FoldTable>
      )}
      {drained !== undefined && (
        <DrainDialog
          worker={drained}
          onClose={() => setDrained(undefined)}
          onDrained={async () => {
            setDrained(undefined)
            await reload()
          }}
        />
      )}
    </section>
  )
}

const loadWorkers = async () =>
  (await callApi<{ workers: readonly Worker[] }>('GET', '/workers')).workers

type RowProps = {
  readonly worker: Worker
  readonly onChange: () => Promise<void>
  readonly onDrain: (worker: Worker) => void
}

function MachineRow({ worker, onChange, onDrain }: RowProps) {
  const { busy, error, submit } = useSubmit(async () => {
    await callApi('DELETE', `/workers/${worker.id}/drain`)
    await onChange()
  })
  return (
    <tr>
      <th scope="row">
        <code>{worker.id}</code>
        <p class="soft">{worker.models.join(', ')}</p>
        {error !== undefined && <Failure error={error} what="That did not work" />}
      </th>
      <td data-label="Load">
        {worker.active} of {worker.capacity}
      </td>
      <td data-label="Joined">
        <Moment iso={worker.registered_at} ago />
      </td>
      <td data-label="State">
        <div>
          <Badge kind={worker.draining ? 'warn' : 'good'}>
            {worker.draining ? 'draining' : 'serving'}
          </Badge>
        </div>
      </td>
      <td class="end">
        {worker.draining ? (
          <Button busy={busy} label={`Put ${worker.id} back into service`} onClick={submit}>
            Put back into service
          </Button>
        ) : (
          <Button label={`Drain ${worker.id}`} onClick={() => onDrain(worker)}>
            Drain
          </Button>
        )}
      </td>
    </tr>
  )
}
