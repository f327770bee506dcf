/** Pages have addresses; navigating between them reloads nothing. */
import type { ComponentChildren } from 'preact'
import { createStore, useStore } from './store.ts'

const path = createStore(location.pathname)

/** Follows the browser's back and forward buttons. */
export function startRouter(): void {
  addEventListener('popstate', () => path.set(location.pathname))
}

export const usePath = (): string => useStore(path)

export function navigate(to: string): void {
  if (to !== location.pathname) history.pushState(null, '', to)
  path.set(to)
}

type LinkProps = {
  readonly to: string
  readonly class?: string
  readonly current?: boolean
  readonly onFollow?: () => void
  readonly children: ComponentChildren
}

/** An ordinary link: opening it in a new tab works as usual. */
export function Link({ to, current = false, onFollow, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey
    if (!plain || event.defaultPrevented) return
    event.preventDefault()
    navigate(to)
    onFollow?.()
  }
  return (
    <a href={to} class={rest.class} aria-current={current ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  )
}
