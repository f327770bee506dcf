/** The member's own account: profile and password. */
import { useState } from 'preact/hooks'
import { changePassword } from '../api/session.ts'
import type { PageProps } from '../page-props.ts'
import { useSubmit } from '../submit.ts'
import { Button } from '../view/button.tsx'
import { Failure } from '../view/failure.tsx'
import { Field } from '../view/field.tsx'
import { Moment } from '../view/moment.tsx'
import { NewPasswordField } from '../view/new-password-field.tsx'
import { Notice } from '../view/notice.tsx'
import { PageHead } from '../view/page-head.tsx'

export function AccountPage({ member }: PageProps) {
  return (
    <>
      <PageHead title="Your account" lead="Who you are here, and your password." />
      <section class="card narrow" aria-labelledby="who">
        <h2 id="who">You</h2>
        <dl class="facts">
          <dt>Name</dt>
          <dd>{member.name}</dd>
          <dt>E-mail</dt>
          <dd>{member.email}</dd>
          <dt>Role</dt>
          <dd>
            {member.role === 'admin' ? 'Admin' : 'Member'}
            {member.operates && ', operates this deployment'}
          </dd>
          <dt>Member since</dt>
          <dd>
            <Moment iso={member.created_at} />
          </dd>
        </dl>
      </section>
      {member.has_password ? <PasswordForm email={member.email} /> : <NoPassword />}
    </>
  )
}

const NoPassword = () => (
  <Notice kind="info" title="You sign in with your organisation.">
    <p>You have no password here, so there is none to change.</p>
  </Notice>
)

function PasswordForm({ email }: { readonly email: string }) {
  const [oldPassword, setOld] = useState('')
  const [newPassword, setNew] = useState('')
  const [done, setDone] = useState(false)
  const { busy, error, submit } = useSubmit(async () => {
    setDone(false)
    await changePassword(oldPassword, newPassword)
    setOld('')
    setNew('')
    setDone(true)
  })
  return (
    <form class="card narrow" onSubmit={submit} aria-labelledby="password">
      <h2 id="password">Password</h2>
      {/* Tells password managers whose password this is. */}
      <input type="text" autocomplete="username" value={email} readOnly hidden />
      <Field
        label="Current password"
        type="password"
        autocomplete="current-password"
        required
        value={oldPassword}
        onValue={setOld}
      />
      <NewPasswordField
        label="New password"
        value={newPassword}
        onValue={setNew}
        hint="Your other sessions will end."
      />
      {error !== undefined && <Failure error={error} what="The password was not changed" />}
      {done && (
        <Notice kind="good" urgent>
          <p>The password is changed.</p>
        </Notice>
      )}
      <Button kind="primary" type="submit" busy={busy}>
        Change password
      </Button>
    </form>
  )
}
