/** A chat that encrypts in the browser. */
import type { ServedModel } from '@privatemode/protocol/fleet'
import { useEffect, useState } from 'preact/hooks'
import { defaultSettings } from '../../../chat/build-request.ts'
import { callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Link } from '../../router.tsx'
import { useStore } from '../../store.ts'
import {
  type Connection,
  callVerified,
  connection,
  type Verified,
  verify,
  verifyOnce,
} from '../../trust/connection.ts'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'
import { Icon } from '../../view/icon.tsx'
import { Notice } from '../../view/notice.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { InsecureNotice } from '../verification/insecure-notice.tsx'
import { CodeDialog } from './code-dialog.tsx'
import { Composer } from './composer.tsx'
import {
  ask,
  conversations,
  currentOf,
  type Question,
  restoreConversations,
  retry,
  type Turn,
} from './conversation.ts'
import { ConversationBar } from './conversation-bar.tsx'
import { SettingsForm } from './settings-form.tsx'
import { TurnList } from './turn-list.tsx'

export function PlaygroundPage({ member }: PageProps) {
  const current = useStore(connection)
  useEffect(verifyOnce, [])
  useEffect(() => void restoreConversations(member.id), [member.id])
  return (
    <>
      <PageHead
        title="Playground"
        lead="A chat that is encrypted in this browser, for machines that this browser has verified. The gateway relays it and cannot read it."
      >
        <ConversationBar />
      </PageHead>
      <Body current={current} />
    </>
  )
}

function Body({ current }: { readonly current: Connection }) {
  switch (current.kind) {
    case 'none':
    case 'verifying':
      return <Waiting what="verified machines" lines={4} />
    case 'unconfigured':
      return (
        <Notice kind="warn" title="Nothing to verify against.">
          <p>
            This gateway names no manifest log key, so no machine can be trusted with a prompt. See
            the <Link to="/verification">verification page</Link>.
          </p>
        </Notice>
      )
    case 'insecure':
      return <InsecureNotice />
    case 'refused':
      return (
        <>
          <Failure
            error={current.error}
            what="The backend is not verified, so nothing is sent"
            onRetry={() => void verify(current.trust)}
          />
          <p>
            The <Link to="/verification">verification page</Link> shows which check failed.
          </p>
        </>
      )
    case 'verified':
      return <Chat current={current} />
  }
}

type ChatProps = { readonly current: Verified }

function Chat({ current }: ChatProps) {
  const state = useStore(conversations)
  const { turns, id } = currentOf(state)
  const { running } = state
  const [models, reload] = useLoad(
    () => callVerified(current, ({ client }) => client.models.list()),
    [current.client],
  )
  const [served] = useLoad(loadServed, [])
  const [chosen, setChosen] = useState<string>()
  const [settings, setSettings] = useState(defaultSettings)
  const [editing, setEditing] = useState<Turn>()
  const [showsCode, setShowsCode] = useState(false)
  useEffect(() => setEditing(undefined), [id])
  if (models.kind === 'loading') return <Waiting what="models" lines={4} />
  if (models.kind === 'failed') {
    return <Failure error={models.error} what="No models" onRetry={reload} />
  }
  const offered = models.value.filter(({ tasks }) => tasks.includes('generate'))
  const model = chosen ?? offered[0]?.id
  if (model === undefined) {
    return (
      <div class="empty">
        <h2>No chat model</h2>
        <p>The verified machines serve no model that can chat. See the models page.</p>
      </div>
    )
  }
  const options = { verified: current, model, settings }
  const send = (question: Question) => {
    setEditing(undefined)
    void ask(question, options)
  }
  return (
    <div class="chat">
      <div class="chat-bar">
        <Choice
          label="Model"
          quiet
          value={model}
          disabled={running}
          onValue={setChosen}
          options={offered.map(({ id, display_name: name }) => [id, name])}
        />
        <TrustLine current={current} />
        <Button kind="quiet" icon="code" onClick={() => setShowsCode(true)}>
          View code
        </Button>
      </div>
      <SettingsForm settings={settings} onSettings={setSettings} />
      <TurnList
        turns={turns}
        running={running}
        onEdit={setEditing}
        onRetry={() => void retry(options)}
      />
      <Composer
        running={running}
        takesImages={served.kind === 'ready' && takesImages(served.value, model)}
        editing={editing}
        onCancelEdit={() => setEditing(undefined)}
        onSend={send}
      />
      {showsCode && (
        <CodeDialog
          model={model}
          draft={{ said: turns, settings }}
          onClose={() => setShowsCode(false)}
        />
      )}
    </div>
  )
}

/** As the machines told the gateway: a wrong list would only show or hide a button. */
const loadServed = async () =>
  (await callApi<{ models: readonly ServedModel[] }>('GET', '/models')).models

const takesImages = (served: readonly ServedModel[], model: string): boolean =>
  served.find(({ id }) => id === model)?.input_modalities?.includes('image') === true

/** Shows which trust settings apply to prompts that leave this browser. */
function TrustLine({ current }: ChatProps) {
  const { workers } = current.client.verification.transcript()
  const trial = workers.some(({ hardware }) => !hardware)
  const count = `${workers.length} verified ${workers.length === 1 ? 'machine' : 'machines'}`
  return (
    <Link to="/verification" class={`trust-line ${trial ? 'warn' : 'good'}`}>
      <Icon name={trial ? 'warning' : 'shield'} />
      <span>{trial ? `${count}, software (trial)` : count}</span>
    </Link>
  )
}
