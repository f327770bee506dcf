/** Copies a text and confirms it, also to screen readers. */
import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'

type CopyState = 'idle' | 'copied' | 'refused'

const labels: Record<CopyState, string> = { idle: 'Copy', copied: 'Copied', refused: 'Not copied' }

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [state, setState] = useState<CopyState>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), 2500)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      setState('refused') // visitors may deny it, and pages without HTTPS have no clipboard
    }
  }
  return (
    <span class="copy">
      <Button
        kind="quiet"
        icon={state === 'copied' ? 'check' : 'copy'}
        label={`Copy ${what}`}
        onClick={() => void copy()}
      >
        {labels[state]}
      </Button>
      <span class="hidden" role="status">
        {state === 'copied' ? `${what} copied` : ''}
        {state === 'refused' ? 'The browser refused; select the text and copy it by hand' : ''}
      </span>
    </span>
  )
}
