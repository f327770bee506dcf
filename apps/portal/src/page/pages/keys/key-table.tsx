/** The table of keys. */
import type { IssuedKey, Key, Member } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { formatLimitList } from '../../../words/format-limits.ts'
import { isPortalKey } from '../../trust/portal-key.ts'
import { Badge } from '../../view/badge.tsx'
import { Button } from '../../view/button.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { Moment } from '../../view/moment.tsx'

export type KeyAction =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit' | 'rotate' | 'revoke'; readonly key: Key }
  | { readonly kind: 'secret'; readonly issued: IssuedKey }

type KeyTableProps = {
  readonly keys: readonly Key[]
  readonly members: readonly Member[]
  readonly member: Member
  readonly onAction: (action: KeyAction) => void
}

export function KeyTable({ keys, members, member, onAction }: KeyTableProps) {
  const [withRevoked, setWithRevoked] = useState(false)
  const revoked = keys.filter((key) => key.revoked_at !== null).length
  const shown = withRevoked ? keys : keys.filter((key) => key.revoked_at === null)
  if (keys.length === 0) {
    return (
      <div class="empty">
        <h2>No key yet</h2>
        <p>Create one to call the API from a program. The quick start shows how to use it.</p>
        <Button kind="primary" onClick={() => onAction({ kind: 'create' })}>
          Create your first key
        </Button>
      </div>
    )
  }
  return (
    <section class="card" aria-label="Keys">
      <FoldTable columns={['Name', 'Created by', 'Last use', 'Expires']} withActions>
        {shown.map((key) => (
          <KeyRow
            key={key.id}
            subject={key}
            maker={makerOf(key, members)}
            mayChange={member.role === 'admin' || key.created_by === member.id}
            onAction={onAction}
          />
        ))}
      </FoldTable>
      {revoked > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={withRevoked}
            onChange={(event) => setWithRevoked(event.currentTarget.checked)}
          />
          Show revoked keys ({revoked})
        </label>
      )}
    </section>
  )
}

function makerOf(key: Key, members: readonly Member[]): string {
  if (key.created_by === null) return 'operator'
  return members.find(({ id }) => id === key.created_by)?.name ?? 'a former member'
}

type KeyRowProps = {
  readonly subject: Key
  readonly maker: string
  readonly mayChange: boolean
  readonly onAction: (action: KeyAction) => void
}

function KeyRow({ subject: key, maker, mayChange, onAction }: KeyRowProps) {
  const limits = formatLimitList(key.limits)
  const act = (kind: 'edit' | 'rotate' | 'revoke') => () => onAction({ kind, key })
  return (
    <tr data-key={key.id}>
      <th scope="row">
        {key.name} <KeyState subject={key} />
        <p class="soft">
          <code>{key.prefix}…</code>
        </p>
        {limits.length > 0 && <p class="soft limits">At most {limits.join(', ')}</p>}
      </th>
      <td data-label="Created by">
        <div class="named">
          {maker}
          <div class="soft">
            <Moment iso={key.created_at} ago />
          </div>
        </div>
      </td>
      <td data-label="Last use">
        {key.last_used_at === null ? 'never' : <Moment iso={key.last_used_at} ago />}
      </td>
      <td data-label="Expires">
        {key.expires_at === null ? 'never' : <Moment iso={key.expires_at} ago />}
      </td>
      <td class="end">
        {mayChange && key.revoked_at === null && (
          <div class="row">
            <Button label={`Change ${key.name}`} onClick={act('edit')}>
              Change
            </Button>
            <Button label={`Rotate ${key.name}`} onClick={act('rotate')}>
              Rotate
            </Button>
            <Button kind="danger" label={`Revoke ${key.name}`} onClick={act('revoke')}>
              Revoke
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}

function KeyState({ subject: key }: { readonly subject: Key }) {
  if (key.revoked_at !== null) return <Badge kind="bad">revoked</Badge>
  const expired = key.expires_at !== null && Date.parse(key.expires_at) <= Date.now()
  if (expired) return <Badge kind="warn">expired</Badge>
  if (isPortalKey(key)) return <Badge kind="plain">created by this portal</Badge>
  return null
}
