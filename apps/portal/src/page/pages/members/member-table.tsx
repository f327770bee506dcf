/** The table of members. */
import type { Member, Role } from '@privatemode/protocol/fleet'
import { callApi } from '../../api/call-api.ts'
import { useSubmit } from '../../submit.ts'
import { Badge } from '../../view/badge.tsx'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { Moment } from '../../view/moment.tsx'

type MemberTableProps = {
  readonly members: readonly Member[]
  readonly self: Member
  readonly administers: boolean
  readonly onChanged: () => Promise<void>
  readonly onReset: (member: Member) => Promise<void>
}

export function MemberTable({ members, self, administers, ...actions }: MemberTableProps) {
  return (
    <section class="card" aria-label="Members">
      <FoldTable columns={['Name', 'Role', 'Since']} withActions={administers}>
        {members.map((member) => (
          <MemberRow
            key={member.id}
            member={member}
            isSelf={member.id === self.id}
            administers={administers}
            {...actions}
          />
        ))}
      </FoldTable>
    </section>
  )
}

const roleNames: Record<Role, string> = { admin: 'Admin', member: 'Member' }

type MemberRowProps = {
  readonly member: Member
  readonly isSelf: boolean
  readonly administers: boolean
  readonly onChanged: () => Promise<void>
  readonly onReset: (member: Member) => Promise<void>
}

function MemberRow({ member, isSelf, administers, onChanged, onReset }: MemberRowProps) {
  const disabled = member.disabled_at !== null
  const change = async (body: { role?: Role; disabled?: boolean }) => {
    await callApi('PATCH', `/members/${member.id}`, body)
    await onChanged()
  }
  const other: Role = member.role === 'admin' ? 'member' : 'admin'
  const role = useSubmit(() => change({ role: other }))
  const state = useSubmit(() => change({ disabled: !disabled }))
  const reset = useSubmit(() => onReset(member))
  const error = role.error ?? state.error ?? reset.error
  return (
    <tr data-member={member.email}>
      <th scope="row">
        {member.name} {isSelf && <Badge kind="plain">you</Badge>}{' '}
        {disabled && <Badge kind="bad">disabled</Badge>}
        <p class="soft">{member.email}</p>
        {error !== undefined && <Failure error={error} what="Not changed" />}
      </th>
      <td data-label="Role">
        {administers && !isSelf ? (
          <Choice
            label={`Role of ${member.name}`}
            quiet
            value={member.role}
            disabled={role.busy}
            onValue={() => role.submit()}
            options={[
              ['admin', roleNames.admin],
              ['member', roleNames.member],
            ]}
          />
        ) : (
          roleNames[member.role]
        )}
      </td>
      <td data-label="Since">
        <Moment iso={member.created_at} ago />
      </td>
      {administers && (
        <td class="end">
          {!isSelf && (
            <div class="row">
              <Button
                busy={reset.busy}
                label={`New password for ${member.name}`}
                onClick={reset.submit}
              >
                New password
              </Button>
              <Button
                kind={disabled ? 'plain' : 'danger'}
                busy={state.busy}
                label={`${disabled ? 'Enable' : 'Disable'} ${member.name}`}
                onClick={state.submit}
              >
                {disabled ? 'Enable' : 'Disable'}
              </Button>
            </div>
          )}
        </td>
      )}
    </tr>
  )
}
