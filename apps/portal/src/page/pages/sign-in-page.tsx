/** Signing in: by password, or through the identity provider if one is configured. */
import { useEffect, useState } from 'preact/hooks'
import { describeSignInFailure } from '../../words/describe-sign-in.ts'
import { adminPath } from '../api/call-api.ts'
import { offersOidc, signIn } from '../api/session.ts'
import { useSubmit } from '../submit.ts'
import { ThemeButton } from '../theme.tsx'
import { Brand } from '../view/brand.tsx'
import { Button } from '../view/button.tsx'
import { Failure } from '../view/failure.tsx'
import { Field } from '../view/field.tsx'
import { Notice } from '../view/notice.tsx'

type SignInProps = {
  /** There was a session, and it is over. */
  readonly ended: boolean
  /** Why the sign-in through the identity provider just failed. */
  readonly failure: string | undefined
}

export function SignInPage({ ended, failure }: SignInProps) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [oidc, setOidc] = useState(false)
  const { busy, error, submit } = useSubmit(() => signIn(email, password))
  useEffect(() => {
    document.title = 'Sign in · Privatemode'
    offersOidc().then(setOidc, () => {}) // without an answer, passwords still work
  }, [])
  return (
    <main class="alone">
      <Brand />
      <form class="card" onSubmit={submit}>
        <h1>Sign in</h1>
        {ended && (
          <Notice kind="info" urgent>
            <p>Your session has ended. Sign in again to go on.</p>
          </Notice>
        )}
        {failure !== undefined && error === undefined && <Refused failure={failure} />}
        <Field
          label="E-mail"
          type="email"
          autocomplete="username"
          required
          focused
          value={email}
          onValue={setEmail}
        />
        <Field
          label="Password"
          type="password"
          autocomplete="current-password"
          required
          value={password}
          onValue={setPassword}
        />
        {error !== undefined && <Failure error={error} what="You are not signed in" />}
        <Button kind="primary" type="submit" busy={busy}>
          Sign in
        </Button>
        {oidc && (
          <a class="button plain" href={`${adminPath}/oidc/start`}>
            Sign in with your organisation
          </a>
        )}
        <p class="hint">
          No account yet? An admin can send you an invitation. The first account is created with a
          link from the gateway's operator; <code>npm start</code> prints it.
        </p>
      </form>
      <ThemeButton />
    </main>
  )
}

function Refused({ failure }: { readonly failure: string }) {
  const { reason, next } = describeSignInFailure(failure)
  return (
    <Notice kind="bad" title={`You are not signed in: ${reason}.`} urgent>
      <p>{next}</p>
    </Notice>
  )
}
