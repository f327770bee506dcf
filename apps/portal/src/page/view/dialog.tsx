/** A dialog above the page; the browser traps the focus inside and restores it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  /** Content shown only once must not vanish with Escape. */
  readonly sticky?: boolean
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, sticky = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    if (!sticky) onClose()
  }
  return (
    <dialog ref={element} aria-labelledby={titleId} onCancel={cancel}>
      <header>
        <h2 id={titleId}>{title}</h2>
        {!sticky && <Button kind="quiet" icon="cross" label="Close" onClick={onClose} />}
      </header>
      {children}
    </dialog>
  )
}
