/** Where a message is written; Enter sends, Shift and Enter makes a new line. */
import { useRef, useState } from 'preact/hooks'
import { Button } from '../../view/button.tsx'
import { stop } from './conversation.ts'

type ComposerProps = { readonly running: boolean; readonly onSend: (text: string) => void }

export function Composer({ running, onSend }: ComposerProps) {
  const [text, setText] = useState('')
  const box = useRef<HTMLTextAreaElement>(null)
  const ready = !running && text.trim() !== ''
  const send = () => {
    if (!ready) return
    onSend(text)
    setText('')
    box.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // While a word is composed, as in Japanese, Enter chooses it.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <label for="message" class="hidden">
        Message
      </label>
      <textarea
        id="message"
        ref={box}
        rows={2}
        placeholder="Write a message"
        aria-describedby="message-hint"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {running ? (
        <Button kind="danger" icon="stop" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button kind="primary" type="submit" icon="send" disabled={!ready}>
          Send
        </Button>
      )}
      <p class="hint" id="message-hint">
        Enter sends, Shift + Enter starts a new line. The conversation is kept in this page only.
      </p>
    </form>
  )
}
