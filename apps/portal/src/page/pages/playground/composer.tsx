/** The message input; Enter sends, Shift+Enter inserts a new line. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../view/button.tsx'
import { type Question, stop, type Turn } from './conversation.ts'

type ComposerProps = {
  readonly running: boolean
  readonly takesImages: boolean
  /** The question being edited. */
  readonly editing: Turn | undefined
  readonly onCancelEdit: () => void
  readonly onSend: (question: Question) => void
}

const maxImageBytes = 5 * 1024 * 1024

export function Composer(props: ComposerProps) {
  const { running, takesImages, editing, onCancelEdit, onSend } = props
  const [text, setText] = useState('')
  const [attached, setImages] = useState<readonly string[]>([])
  const [note, setNote] = useState('')
  const box = useRef<HTMLTextAreaElement>(null)
  const file = useRef<HTMLInputElement>(null)
  // Before the next key press, which would otherwise go elsewhere on a busy machine.
  useLayoutEffect(() => {
    if (editing === undefined) return
    setText(editing.text)
    setImages(editing.images ?? [])
    box.current?.focus()
  }, [editing])
  // Kept while another model is chosen, but sent only to one that takes them.
  const images = takesImages ? attached : []
  const ready = !running && (text.trim() !== '' || images.length > 0)
  const send = () => {
    if (!ready) return
    onSend({ text, images, inPlaceOf: editing?.id })
    setText('')
    setImages([])
    setNote('')
    box.current?.focus()
  }
  const cancelEdit = () => {
    setText('')
    setImages([])
    onCancelEdit()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && editing !== undefined) cancelEdit()
    // During text composition, as in Japanese, Enter selects a word.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    send()
  }
  const attach = async (chosen: FileList | null) => {
    const [picture] = chosen ?? []
    if (picture === undefined) return
    if (picture.size > maxImageBytes) {
      setNote('That picture is larger than 5 MB.')
      return
    }
    const url = await readDataUrl(picture)
    setImages((old) => [...old, url])
    setNote(`${picture.name} attached.`)
    if (file.current !== null) file.current.value = ''
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
        placeholder={editing === undefined ? 'Write a message' : 'Change your message'}
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
        {takesImages ? (
          <button type="button" class="link" onClick={() => file.current?.click()}>
            Attach a picture
          </button>
        ) : (
          'This model takes text only'
        )}
        {images.length > 0 && (
          <>
            {' '}
            ({images.length}{' '}
            <button type="button" class="link" onClick={() => setImages([])}>
              remove
            </button>
            )
          </>
        )}
        {editing !== undefined && (
          <>
            {' · '}
            <button type="button" class="link" onClick={cancelEdit}>
              Keep the message as it was
            </button>
          </>
        )}
        {' · '}
        <span class="wide-only">Enter sends, Shift + Enter starts a new line. </span>
        Kept in this browser only, encrypted, until you sign out.
        <span role="status"> {note}</span>
      </p>
      <input
        ref={file}
        class="hidden"
        type="file"
        accept="image/png,image/jpeg,image/webp,image/gif"
        aria-label="Picture to attach"
        tabIndex={-1}
        onChange={(event) => void attach(event.currentTarget.files)}
      />
    </form>
  )
}

function readDataUrl(picture: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(picture)
  })
}
