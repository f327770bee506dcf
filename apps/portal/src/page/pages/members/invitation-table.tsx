/** Valid invitations and password links. */
import type { Invitation, Member } from '@privatemode/protocol/fleet'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { Moment } from '../../view/moment.tsx'

type InvitationTableProps = {
  readonly invitations: readonly Invitation[]
  readonly members: readonly Member[]
  readonly onChanged: () => Promise<void>
}

export function InvitationTable({ invitations, members, onChanged }: InvitationTableProps) {
  if (invitations.length === 0) return null
  return (
    <section class="card" aria-labelledby="invitations">
      <h2 id="invitations">Open invitations</h2>
      <FoldTable columns={['For', 'Created by', 'Expires']} withActions>
        {invitations.map((invitation) => (
          <InvitationRow
            key={invitation.id}
            invitation={invitation}
            maker={makerOf(invitation, members)}
            onChanged={onChanged}
          />
        ))}
      </FoldTable>
    </section>
  )
}

function makerOf({ created_by: id }: Invitation, members: readonly Member[]): string {
  if (id === null) return 'operator'
  return members.find((member) => member.id === id)?.name ?? 'operator'
}

type InvitationRowProps = {
  readonly invitation: Invitation
  readonly maker: string
  readonly onChanged: () => Promise<void>
}

function InvitationRow({ invitation, maker, onChanged }: InvitationRowProps) {
  const { busy, error, submit } = useSubmit(async () => {
    await callApi('DELETE', `/invitations/${invitation.id}`)
    await onChanged()
  })
  const address = invitation.email ?? 'Anyone with the link'
  const role = invitation.role === 'admin' ? 'Admin' : 'Member'
  return (
    <tr data-invitation={invitation.id}>
      <th scope="row">
        {address}
        <p class="soft">{invitation.member_id === null ? role : 'Password reset'}</p>
        {error !== undefined && <Failure error={error} what="The invitation was not revoked" />}
      </th>
      <td data-label="Created by">
        <div>
          {maker}
          <div class="soft">
            <Moment iso={invitation.created_at} ago />
          </div>
        </div>
      </td>
      <td data-label="Expires">
        <Moment iso={invitation.expires_at} ago />
      </td>
      <td class="end">
        <Button
          kind="danger"
          busy={busy}
          label={`Revoke invitation for ${address}`}
          onClick={submit}
        >
          Revoke
        </Button>
      </td>
    </tr>
  )
}
