/** API keys: create, view, change, rotate, revoke. */
import type { Budget, IssuedKey, Key, Member, Prices } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { BudgetWarnings } from '../usage/budget-card.tsx'
import { KeyForm } from './key-form.tsx'
import { type KeyAction, KeyTable } from './key-table.tsx'
import { RevokeDialog } from './revoke-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { SecretDialog } from './secret-dialog.tsx'

export function KeysPage({ member }: PageProps) {
  const [loaded, reload] = useLoad(loadKeys, [])
  const [action, setAction] = useState<KeyAction>()
  const close = () => setAction(undefined)
  const changed = async () => {
    close()
    await reload()
  }
  const issued = async (key: IssuedKey) => {
    setAction({ kind: 'secret', issued: key })
    await reload()
  }
  return (
    <>
      <PageHead
        title="API keys"
        lead="A key lets a program call the API, and its usage is counted. It decrypts nothing: the gateway that checks it cannot read prompts."
      >
        <Button kind="primary" icon="key" onClick={() => setAction({ kind: 'create' })}>
          Create key
        </Button>
      </PageHead>
      {loaded.kind === 'loading' && <Waiting what="keys" />}
      {loaded.kind === 'failed' && (
        <Failure error={loaded.error} what="The keys could not be loaded" onRetry={reload} />
      )}
      {loaded.kind === 'ready' && (
        <>
          {loaded.value.currency !== null && (
            <BudgetWarnings budgets={loaded.value.budgets} currency={loaded.value.currency} />
          )}
          <KeyTable
            keys={loaded.value.keys}
            members={loaded.value.members}
            member={member}
            onAction={setAction}
          />
        </>
      )}
      <ActionDialog
        action={action}
        member={member}
        onClose={close}
        onChanged={changed}
        onIssued={issued}
      />
    </>
  )
}

type LoadedKeys = {
  readonly keys: readonly Key[]
  readonly members: readonly Member[]
  readonly budgets: readonly Budget[]
  readonly currency: string | null
}

async function loadKeys(): Promise<LoadedKeys> {
  const [{ keys }, { members }, { budgets }, { currency }] = await Promise.all([
    callApi<{ keys: readonly Key[] }>('GET', '/keys'),
    callApi<{ members: readonly Member[] }>('GET', '/members'),
    callApi<{ budgets: readonly Budget[] }>('GET', '/budgets'),
    callApi<Prices>('GET', '/prices'),
  ])
  return { keys, members, budgets, currency }
}

type ActionProps = {
  readonly action: KeyAction | undefined
  readonly member: Member
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
  readonly onIssued: (issued: IssuedKey) => Promise<void>
}

function ActionDialog({ action, member, onClose, onChanged, onIssued }: ActionProps) {
  if (action === undefined) return null
  const mayLimit = member.role === 'admin'
  switch (action.kind) {
    case 'create':
      return <KeyForm mayLimit={mayLimit} onClose={onClose} onIssued={onIssued} />
    case 'edit': {
      const { key } = action
      return <KeyForm mayLimit={mayLimit} existing={key} onClose={onClose} onChanged={onChanged} />
    }
    case 'rotate':
      return <RotateDialog subject={action.key} onClose={onClose} onIssued={onIssued} />
    case 'revoke':
      return <RevokeDialog subject={action.key} onClose={onClose} onChanged={onChanged} />
    case 'secret':
      return <SecretDialog issued={action.issued} onClose={onClose} />
  }
}
