/** Copies a text and says so, also to screen readers. */
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
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setState('copied'),
      () => setState('refused'), // the browser may ask, and people may say no
    )
  }
  return (
    <span class="copy">
      <Button
        kind="quiet"
        icon={state === 'copied' ? 'check' : 'copy'}
        label={`Copy ${what}`}
        onClick={copy}
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
