/** The head of a page: its title, one sentence, and actions. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

type PageHeadProps = {
  readonly title: string
  readonly lead: ComponentChildren
  readonly children?: ComponentChildren
}

let first = true

/** Takes the focus when a page opens, so that keyboards and screen readers start at its top. */
export function PageHead({ title, lead, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Not later: on a busy machine, that would be in the middle of what the visitor types.
  useLayoutEffect(() => {
    document.title = `${title} · Privatemode`
    if (!first) heading.current?.focus({ preventScroll: true })
    first = false
    scrollTo(0, 0)
  }, [title])
  return (
    <header class="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <p class="lead">{lead}</p>
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}
