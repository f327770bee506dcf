/** Members and their roles. */
import type { IssuedInvitation, Member } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { Notice } from '../../view/notice.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { InviteDialog, LinkDialog, type ShownLink } from './invite-dialog.tsx'
import { MemberTable } from './member-table.tsx'

export function MembersPage({ member }: PageProps) {
  const [members, reload] = useLoad(() => loadMembers(member.account_id), [member.account_id])
  const [inviting, setInviting] = useState(false)
  const [link, setLink] = useState<ShownLink>()
  const administers = member.role === 'admin'
  const reset = async (subject: Member) => {
    const invitation = await callApi<IssuedInvitation>('POST', `/members/${subject.id}/reset`)
    setLink({ invitation, hint: 'reset', title: `New password for ${subject.name}` })
  }
  const show = (shown: ShownLink) => {
    setInviting(false)
    setLink(shown)
  }
  return (
    <>
      <PageHead
        title="Members"
        lead="Admins manage members, limits and all keys of the account. Members manage their own keys."
      >
        {administers && (
          <Button kind="primary" icon="people" onClick={() => setInviting(true)}>
            Invite
          </Button>
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
          members={members.value}
          self={member}
          administers={administers}
          onChanged={reload}
          onReset={reset}
        />
      )}
      {inviting && <InviteDialog onClose={() => setInviting(false)} onInvited={show} />}
      {link !== undefined && <LinkDialog shown={link} onClose={() => setLink(undefined)} />}
    </>
  )
}

async function loadMembers(accountId: string): Promise<readonly Member[]> {
  const path = `/members?account=${encodeURIComponent(accountId)}`
  return (await callApi<{ members: readonly Member[] }>('GET', path)).members
}
