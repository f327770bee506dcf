/** The messages of a conversation, with what can be proved about each answer. */
import { useEffect, useRef } from 'preact/hooks'
import { Failure } from '../../view/failure.tsx'
import type { Turn } from './conversation.ts'
import { ProofView } from './proof-view.tsx'

export function TurnList({ turns }: { readonly turns: readonly Turn[] }) {
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
          Your message is sealed here and opened on a verified machine. Each answer comes with a
          receipt that the machine signed.
        </p>
      </div>
    )
  }
  return (
    <>
      <ol class="turns" aria-label="Conversation">
        {turns.map((turn) => (
          <li key={turn.id} class={`turn ${turn.role}`} aria-busy={turn.state === 'writing'}>
            <TurnView turn={turn} />
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {announce(last)}
      </p>
      <div class="turns-end" ref={end} />
    </>
  )
}

/** Screen readers hear a whole answer, not every piece of it. */
function announce(turn: Turn | undefined): string {
  if (turn?.role !== 'assistant') return ''
  switch (turn.state) {
    case 'writing':
      return 'The model is answering'
    case 'done':
      return `The model answered: ${turn.text}`
    case 'stopped':
      return 'Stopped'
    case 'failed':
      return '' // the failure is an alert of its own
  }
}

function TurnView({ turn }: { readonly turn: Turn }) {
  return (
    <>
      <p class="speaker">{turn.role === 'user' ? 'You' : 'Model'}</p>
      {turn.text !== '' && <p class="said">{turn.text}</p>}
      {turn.state === 'writing' && turn.text === '' && <p class="said soft">…</p>}
      {turn.state === 'stopped' && <p class="soft">Stopped by you.</p>}
      {turn.state === 'failed' && <Failure error={turn.error} what="No whole answer" />}
      {turn.proof !== undefined && turn.state !== 'writing' && <ProofView proof={turn.proof} />}
    </>
  )
}
