/** The models that the gateway serves, and whether this browser has verified them. */
import type { ServedModel } from '@privatemode/protocol/fleet'
import { useEffect } from 'preact/hooks'
import { formatCount } from '../../words/format-time.ts'
import { callApi } from '../api/call-api.ts'
import { useLoad } from '../load.ts'
import type { PageProps } from '../page-props.ts'
import { Link } from '../router.tsx'
import { useStore } from '../store.ts'
import { type Connection, connection, verifyOnce } from '../trust/connection.ts'
import { Badge } from '../view/badge.tsx'
import { CopyButton } from '../view/copy-button.tsx'
import { Failure } from '../view/failure.tsx'
import { PageHead } from '../view/page-head.tsx'
import { Waiting } from '../view/waiting.tsx'
import { MachinesSection } from './machines-section.tsx'

export function ModelsPage({ member }: PageProps) {
  const current = useStore(connection)
  const [models, reload] = useLoad(loadModels, [])
  useEffect(verifyOnce, [])
  return (
    <>
      <PageHead
        title="Models"
        lead="What you can call. The identifier is what requests name as their model."
      />
      {models.kind === 'loading' && <Waiting what="models" />}
      {models.kind === 'failed' && (
        <Failure error={models.error} what="The models could not be loaded" onRetry={reload} />
      )}
      {models.kind === 'ready' && models.value.length === 0 && (
        <div class="empty">
          <h2>No model at the moment</h2>
          <p>Models appear here when a machine that serves them has joined the gateway.</p>
        </div>
      )}
      {models.kind === 'ready' && (
        <ul class="models">
          {models.value.map((model) => (
            <li key={model.id} class="card">
              <Model model={model} verified={isVerified(current, model.id)} />
            </li>
          ))}
        </ul>
      )}
      {member.operates && <MachinesSection />}
    </>
  )
}

const loadModels = async () =>
  (await callApi<{ models: readonly ServedModel[] }>('GET', '/models')).models

type Verified = 'yes' | 'no' | 'unknown'

/** A model that the manifest does not list is never called, whatever the gateway claims. */
function isVerified(current: Connection, id: string): Verified {
  if (current.kind !== 'verified') return 'unknown'
  const { workers } = current.client.verification.transcript()
  return workers.some(({ models }) => models.includes(id)) ? 'yes' : 'no'
}

const tasks: Readonly<Record<string, string>> = { generate: 'chat and text', embed: 'embeddings' }

function Model({ model, verified }: { readonly model: ServedModel; readonly verified: Verified }) {
  return (
    <>
      <div class="card-head">
        <h2>{model.display_name ?? model.id}</h2>
        {verified === 'yes' && <Badge kind="good">verified here</Badge>}
        {verified === 'no' && <Badge kind="bad">not in the manifest</Badge>}
        {verified === 'unknown' && (
          <Link to="/verification" class="badge plain">
            not verified yet
          </Link>
        )}
      </div>
      <p class="row">
        <code>{model.id}</code>
        <CopyButton text={model.id} what={`identifier ${model.id}`} />
      </p>
      <dl class="facts">
        <dt>For</dt>
        <dd class="sentence">
          {(model.tasks ?? []).map((task) => tasks[task] ?? task).join(', ')}
        </dd>
        {model.input_modalities !== undefined && (
          <>
            <dt>Input</dt>
            <dd>{model.input_modalities.includes('image') ? 'Text and images' : 'Text'}</dd>
          </>
        )}
        {model.context_length !== undefined && (
          <>
            <dt>Context</dt>
            <dd>{formatCount(model.context_length)} tokens</dd>
          </>
        )}
        <dt>Machines</dt>
        <dd>{model.workers}</dd>
      </dl>
    </>
  )
}
