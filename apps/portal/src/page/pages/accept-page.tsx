/** A one-time link: the first account, an invitation, or a new password. */
import { useEffect, useState } from 'preact/hooks'
import { acceptInvitation } from '../api/session.ts'
import type { InvitationHint } from '../invitation.ts'
import { useSubmit } from '../submit.ts'
import { ThemeButton } from '../theme.tsx'
import { Brand } from '../view/brand.tsx'
import { Button } from '../view/button.tsx'
import { Failure } from '../view/failure.tsx'
import { Field } from '../view/field.tsx'
import { NewPasswordField } from '../view/new-password-field.tsx'

type AcceptProps = { readonly invitation: InvitationHint; readonly onDone: () => void }

export function AcceptPage({ invitation, onDone }: AcceptProps) {
  const { token, reset } = invitation
  const [name, setName] = useState('')
  const [email, setEmail] = useState(invitation.email ?? '')
  const [password, setPassword] = useState('')
  const { busy, error, submit } = useSubmit(async () => {
    const person = reset ? {} : { email, name }
    await acceptInvitation({ token, password, ...person })
    onDone()
  })
  useEffect(() => {
    document.title = 'Welcome · Privatemode'
  }, [])
  return (
    <main class="alone">
      <Brand />
      <form class="card" onSubmit={submit}>
        <h1>{reset ? 'Set a new password' : 'Create your account'}</h1>
        <p>
          {reset
            ? 'This link works once. Your other sessions will end.'
            : 'This link works once. Afterwards you sign in with your e-mail and password.'}
        </p>
        {!reset && (
          <>
            <Field
              label="Name"
              autocomplete="name"
              required
              focused
              maxLength={100}
              value={name}
              onValue={setName}
            />
            <Field
              label="E-mail"
              type="email"
              autocomplete="username"
              required
              value={email}
              onValue={setEmail}
              {...(invitation.email === undefined
                ? {}
                : { hint: 'You were invited under this address.' })}
            />
          </>
        )}
        <NewPasswordField
          label="Password"
          value={password}
          onValue={setPassword}
          hint="A few words are better than one odd one."
        />
        {error !== undefined && (
          <Failure
            error={error}
            what="That did not work"
            {...(isSpent(error) ? { advice: <SpentAdvice reset={reset} /> } : {})}
          />
        )}
        <Button kind="primary" type="submit" busy={busy}>
          {reset ? 'Set password' : 'Create account'}
        </Button>
      </form>
      <ThemeButton />
    </main>
  )
}

const isSpent = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === 'permission_denied'

/** A link works once: whoever used it already has what it provided. */
const SpentAdvice = ({ reset }: { readonly reset: boolean }) => (
  <>
    {reset ? 'If you have set your password with it, ' : 'If you have made your account with it, '}
    <a href="/">sign in</a>. Otherwise ask the person who sent you the link for a new one.
  </>
)
