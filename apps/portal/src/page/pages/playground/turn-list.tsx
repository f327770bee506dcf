/** The messages of a conversation, each with what can be proved about it. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { SentenceReader } from '../../../chat/sentences.ts'
import { Button } from '../../view/button.tsx'
import { CodeBlock } from '../../view/code-block.tsx'
import { CopyButton } from '../../view/copy-button.tsx'
import { Notice } from '../../view/notice.tsx'
import type { Turn } from './conversation.ts'
import { MarkdownView } from './markdown-view.tsx'
import { MessageProof } from './message-proof.tsx'

type TurnListProps = {
  readonly turns: readonly Turn[]
  readonly running: boolean
  readonly onEdit: (turn: Turn) => void
  readonly onRetry: () => void
}

export function TurnList({ turns, running, onEdit, onRetry }: TurnListProps) {
  const end = useRef<HTMLDivElement>(null)
  const last = turns.at(-1)
  useEffect(() => {
    if (last?.role === 'assistant') end.current?.scrollIntoView({ block: 'nearest' })
  }, [last?.state, last?.text])
  if (turns.length === 0) {
    return (
      <div class="empty">
        <h2>Say something</h2>
        <p>
          Your message is encrypted here and opened on a verified machine. Next to it you see what
          left your browser and what the gateway saw; next to the answer, which machine gave it and
          what it signed.
        </p>
      </div>
    )
  }
  return (
    <>
      <ol class="turns" aria-label="Conversation">
        {turns.map((turn) => (
          <li key={turn.id} class={`exchange ${turn.role}`}>
            <article class={`turn ${turn.role}`} aria-busy={turn.state === 'writing'}>
              <TurnView turn={turn} />
              {!running && (
                <TurnActions turn={turn} isLast={turn === last} onEdit={onEdit} onRetry={onRetry} />
              )}
            </article>
            <MessageProof turn={turn} />
          </li>
        ))}
      </ol>
      <Spoken turn={last} />
      <div class="turns-end" ref={end} />
    </>
  )
}

const none: readonly string[] = []

/** Screen readers announce the answer sentence by sentence: each is added once, when complete. */
function Spoken({ turn }: { readonly turn: Turn | undefined }) {
  const isAnswer = turn?.role === 'assistant' && turn.state !== 'failed'
  const [reader] = useState(() => new SentenceReader())
  const sentences = isAnswer ? reader.read(turn.text, turn.state !== 'writing') : none
  const id = turn?.id
  const spoken = useMemo(
    () => sentences.map((sentence, index) => <p key={`${id} ${index}`}>{sentence}</p>),
    [sentences, id],
  )
  return (
    <div class="hidden" role="log" aria-live="polite" aria-label="Answer, read aloud">
      {isAnswer && <p key={`${turn.id} begins`}>The model is answering.</p>}
      {spoken}
      {turn?.state === 'stopped' && <p key={`${turn.id} ends`}>Stopped.</p>}
    </div>
  )
}

function TurnView({ turn }: { readonly turn: Turn }) {
  const { role, text, state, images = [], toolCalls = [], failure } = turn
  return (
    <>
      <p class="speaker">{role === 'user' ? 'You' : 'Model'}</p>
      {images.length > 0 && (
        <div class="pictures">
          {images.map((url, index) => (
            <img key={url} src={url} alt={`Attachment ${index + 1}`} />
          ))}
        </div>
      )}
      {text !== '' && (role === 'user' ? <p class="said">{text}</p> : <MarkdownView text={text} />)}
      {toolCalls.map(({ name, input }, index) => (
        <div key={index} class="tool-call">
          <p class="soft">
            The model asks your program to call <code>{name}</code>:
          </p>
          <CodeBlock what={`call of ${name}`} text={input} />
        </div>
      ))}
      {state === 'writing' && text === '' && <p class="said soft">…</p>}
      {state === 'stopped' && <p class="soft">Stopped by you.</p>}
      {failure !== undefined && (
        <Notice kind="bad" title={`No whole answer: ${failure.reason}.`} urgent>
          <p>{failure.next}</p>
        </Notice>
      )}
    </>
  )
}

type TurnActionsProps = Omit<TurnListProps, 'turns' | 'running'> & {
  readonly turn: Turn
  readonly isLast: boolean
}

function TurnActions({ turn, isLast, onEdit, onRetry }: TurnActionsProps) {
  return (
    <div class="turn-actions">
      {turn.role === 'user' && (
        <Button kind="quiet" icon="edit" onClick={() => onEdit(turn)}>
          Edit
        </Button>
      )}
      {turn.role === 'assistant' && turn.text !== '' && (
        <CopyButton text={turn.text} what="answer" />
      )}
      {turn.role === 'assistant' && isLast && (
        <Button kind="quiet" icon="again" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
