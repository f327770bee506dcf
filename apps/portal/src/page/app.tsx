/** Decides what to show: a one-time link, the sign-in page, or a page of the portal. */
import { useEffect, useState } from 'preact/hooks'
import { findSession } from './api/session.ts'
import { session } from './api/session-store.ts'
import { forgetOtherVisitors, forgetVisitor } from './forget-visitor.ts'
import { takeInvitation } from './invitation.ts'
import { AcceptPage } from './pages/accept-page.tsx'
import { SignInPage } from './pages/sign-in-page.tsx'
import { mayOpen, pages } from './pages.tsx'
import { navigate, usePath } from './router.tsx'
import { Shell } from './shell.tsx'
import { takeSignInFailure } from './sign-in-failure.ts'
import { followSignOut } from './sign-out-signal.ts'
import { useStore } from './store.ts'
import { Failure } from './view/failure.tsx'
import { Waiting } from './view/waiting.tsx'

export function App() {
  const current = useStore(session)
  const path = usePath()
  const [invitation, setInvitation] = useState(takeInvitation)
  const [signInFailure] = useState(takeSignInFailure)
  const [error, setError] = useState<unknown>()
  const start = () => {
    setError(undefined)
    findSession().catch(setError)
  }
  useEffect(start, [])
  const memberId = current.kind === 'signed-in' ? current.member.id : undefined
  const isCleared = useClearedFor(memberId)
  useEffect(() => followSignOut(() => void leave()), [])
  useEffect(() => {
    const take = () => setInvitation((old) => takeInvitation() ?? old)
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])

  if (invitation !== undefined) {
    const done = () => {
      setInvitation(undefined)
      navigate('/')
    }
    return <AcceptPage invitation={invitation} onDone={done} />
  }
  if (error !== undefined) {
    return (
      <main class="alone">
        <Failure error={error} what="The portal cannot start" onRetry={start} />
      </main>
    )
  }
  switch (current.kind) {
    case 'unknown':
      return <Starting />
    case 'signed-out':
      return <SignInPage ended={current.ended} failure={signInFailure} />
    case 'signed-in': {
      if (!isCleared) return <Starting />
      const page =
        pages.find((one) => one.path === path && mayOpen(one, current.member)) ?? pages[0]
      return (
        <Shell member={current.member} path={page.path}>
          <page.View key={page.path} member={current.member} />
        </Shell>
      )
    }
  }
}

const Starting = () => (
  <main class="alone">
    <Waiting what="the portal" />
  </main>
)

/** The visitor signed out in another tab, which ended the session. */
async function leave(): Promise<void> {
  session.set({ kind: 'signed-out', ended: false })
  await forgetVisitor() // a save of this tab may have come after the other one deleted everything
}

/**
 * Whether nothing of an earlier member is left on this page. Its pages must not start before that:
 * what they start would be cleared too.
 */
function useClearedFor(memberId: string | undefined): boolean {
  const [clearedFor, setClearedFor] = useState<string>()
  useEffect(() => {
    if (memberId === undefined || memberId === clearedFor) return undefined
    const finish = () => setClearedFor(memberId)
    if (clearedFor === undefined) {
      void forgetOtherVisitors(memberId)
      finish()
      return undefined
    }
    let isStale = false
    const finishUnlessStale = () => {
      if (!isStale) finish()
    }
    void forgetVisitor().then(finishUnlessStale, finishUnlessStale)
    return () => {
      isStale = true
    }
  }, [memberId, clearedFor])
  return clearedFor === undefined || clearedFor === memberId
}
