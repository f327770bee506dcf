/** The frame of every page: navigation, the signed-in member, colour theme. */
import type { Member } from '@privatemode/protocol/fleet'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { signOut } from './api/session.ts'
import { forgetVisitor } from './forget-visitor.ts'
import { mayOpen, pages } from './pages.tsx'
import { Link } from './router.tsx'
import { signalSignOut } from './sign-out-signal.ts'
import { useSubmit } from './submit.ts'
import { ThemeButton } from './theme.tsx'
import { forgetPortalKey } from './trust/portal-key.ts'
import { Brand } from './view/brand.tsx'
import { Button } from './view/button.tsx'
import { Failure } from './view/failure.tsx'
import { Icon } from './view/icon.tsx'

type ShellProps = {
  readonly member: Member
  readonly path: string
  readonly children: ComponentChildren
}

export function Shell({ member, path, children }: ShellProps) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const leaving = useSubmit(async () => {
    await forgetPortalKey()
    await forgetVisitor()
    await signOut()
    signalSignOut()
  })
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="side" data-open={open}>
        <div class="brand">
          <Brand />
          <button
            type="button"
            class="button quiet menu"
            aria-expanded={open}
            aria-controls="menu"
            onClick={() => setOpen(!open)}
          >
            <Icon name={open ? 'cross' : 'menu'} />
            <span>Menu</span>
          </button>
        </div>
        <div class="side-body" id="menu">
          <nav aria-label="Pages">
            <ul>
              {pages
                .filter((page) => mayOpen(page, member))
                .map((page) => (
                  <li key={page.path}>
                    <Link to={page.path} current={page.path === path} onFollow={close}>
                      <Icon name={page.icon} />
                      <span>{page.name}</span>
                    </Link>
                  </li>
                ))}
            </ul>
          </nav>
          <div class="side-foot">
            <p class="who">
              <strong>{member.name}</strong>
              <span>{member.role === 'admin' ? 'Admin' : 'Member'}</span>
            </p>
            <ThemeButton />
            <Button kind="quiet" icon="lock" busy={leaving.busy} onClick={leaving.submit}>
              Sign out
            </Button>
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {leaving.error !== undefined && (
          <Failure error={leaving.error} what="You are still signed in" onRetry={leaving.submit} />
        )}
        {children}
      </main>
    </div>
  )
}
