/** Decides what to show: a one-time link, the sign-in page, or a page of the portal. */
import { useEffect, useRef, useState } from 'preact/hooks'
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
  const lastMemberId = useRef<string | undefined>(undefined)
  useEffect(() => {
    if (memberId === undefined || memberId === lastMemberId.current) return
    if (lastMemberId.current !== undefined) void forgetVisitor()
    else void forgetOtherVisitors(memberId)
    lastMemberId.current = memberId
  }, [memberId])
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
      return (
        <main class="alone">
          <Waiting what="the portal" />
        </main>
      )
    case 'signed-out':
      return <SignInPage ended={current.ended} failure={signInFailure} />
    case 'signed-in': {
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
