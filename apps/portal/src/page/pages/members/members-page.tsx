/** Members and their roles. */
import type { Account, Invitation, IssuedInvitation, Member } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { Notice } from '../../view/notice.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { InvitationTable } from './invitation-table.tsx'
import { InviteDialog, LinkDialog, type ShownLink } from './invite-dialog.tsx'
import { MemberRulesDialog } from './member-rules-dialog.tsx'
import { MemberTable } from './member-table.tsx'

export function MembersPage({ member }: PageProps) {
  const administers = member.role === 'admin'
  const [members, reload] = useLoad(
    () => loadMembers(member.account_id, administers),
    [member.account_id, administers],
  )
  const [inviting, setInviting] = useState(false)
  const [ruling, setRuling] = useState(false)
  const [link, setLink] = useState<ShownLink>()
  const reset = async (subject: Member) => {
    const invitation = await callApi<IssuedInvitation>('POST', `/members/${subject.id}/reset`)
    setLink({ invitation, hint: 'reset', title: `New password for ${subject.name}` })
    void reload()
  }
  const show = (shown: ShownLink) => {
    setInviting(false)
    setLink(shown)
    void reload()
  }
  return (
    <>
      <PageHead
        title="Members"
        lead="Admins manage members, limits and all keys of the account. Members manage their own keys."
      >
        {administers && (
          <>
            <Button disabled={members.kind !== 'ready'} onClick={() => setRuling(true)}>
              Rules for members
            </Button>
            <Button kind="primary" icon="people" onClick={() => setInviting(true)}>
              Invite
            </Button>
          </>
        )}
      </PageHead>
      {!administers && (
        <Notice kind="info">
          <p>You can see who is here. To invite someone or change a role, ask an admin.</p>
        </Notice>
      )}
      {members.kind === 'loading' && <Waiting what="members" />}
      {members.kind === 'failed' && (
        <Failure error={members.error} what="The members could not be loaded" onRetry={reload} />
      )}
      {members.kind === 'ready' && (
        <MemberTable
          members={members.value.members}
          self={member}
          administers={administers}
          onChanged={reload}
          onReset={reset}
        />
      )}
      {members.kind === 'ready' && <InvitationTable {...members.value} onChanged={reload} />}
      {ruling && members.kind === 'ready' && members.value.account !== undefined && (
        <MemberRulesDialog
          account={members.value.account}
          operates={member.operates}
          onClose={() => setRuling(false)}
          onChanged={reload}
        />
      )}
      {inviting && <InviteDialog onClose={() => setInviting(false)} onInvited={show} />}
      {link !== undefined && <LinkDialog shown={link} onClose={() => setLink(undefined)} />}
    </>
  )
}

type Loaded = {
  readonly members: readonly Member[]
  readonly invitations: readonly Invitation[]
  readonly account: Account | undefined
}

async function loadMembers(accountId: string, administers: boolean): Promise<Loaded> {
  const query = `account=${encodeURIComponent(accountId)}`
  const [{ members }, { invitations }, { accounts }] = await Promise.all([
    callApi<Pick<Loaded, 'members'>>('GET', `/members?${query}`),
    administers
      ? callApi<Pick<Loaded, 'invitations'>>('GET', `/invitations?${query}`)
      : { invitations: [] },
    callApi<{ accounts: readonly Account[] }>('GET', '/accounts'),
  ])
  return { members, invitations, account: accounts.find(({ id }) => id === accountId) }
}
