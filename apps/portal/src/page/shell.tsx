/** What surrounds every page: navigation, who is signed in, colours. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { signOut } from './api/session.ts'
import type { Member } from './api/wire.ts'
import { pages } from './pages.tsx'
import { Link } from './router.tsx'
import { ThemeButton } from './theme.tsx'
import { forgetVisitor } from './trust/forget-visitor.ts'
import { forgetPortalKey } from './trust/portal-key.ts'
import { Button } from './view/button.tsx'
import { Icon } from './view/icon.tsx'

type ShellProps = {
  readonly member: Member
  readonly path: string
  readonly children: ComponentChildren
}

export function Shell({ member, path, children }: ShellProps) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const leave = async () => {
    await forgetPortalKey()
    forgetVisitor()
    await signOut()
  }
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
              {pages.map((page) => (
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
            <Button kind="quiet" icon="lock" onClick={() => void leave().catch(() => {})}>
              Sign out
            </Button>
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

/** The mark is drawn here again, so that it takes the colours of the page. */
export function Brand() {
  return (
    <span class="mark">
      <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect class="mark-ground" width="32" height="32" rx="8" />
        <path d="M16 6 7.5 9.2v6.3c0 5.3 3.5 9 8.5 10.7 5-1.7 8.5-5.4 8.5-10.7V9.2z" />
        <path d="m12.3 16 2.7 2.7 5-5.2" />
      </svg>
      Privatemode
    </span>
  )
}
