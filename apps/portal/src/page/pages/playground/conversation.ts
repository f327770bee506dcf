/** A conversation: kept in this page's memory, sealed in this browser, gone when the page closes. */
import type { Receipt } from '@privatemode/sdk'
import { createStore } from '../../store.ts'
import { callVerified, type Verified } from '../../trust/connection.ts'
import type { SealedView } from '../../trust/sealed-view.ts'

export type Turn = {
  readonly id: number
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly state: 'writing' | 'done' | 'stopped' | 'failed'
  readonly error?: unknown
  readonly proof?: Proof
}

/** What can be said about one answer once it has ended. */
export type Proof = {
  readonly requestId: string
  readonly receipt:
    | { readonly kind: 'verified'; readonly receipt: Receipt }
    | { readonly kind: 'refused'; readonly error: unknown }
    /** The answer did not come to its end, so nobody signed for it. */
    | { readonly kind: 'none' }
  readonly seen: SealedView | undefined
}

export type Conversation = { readonly turns: readonly Turn[]; readonly running: boolean }

export const conversation = createStore<Conversation>({ turns: [], running: false })

export type AskOptions = {
  readonly verified: Verified
  readonly model: string
  readonly system: string
  readonly maxTokens: number
}

let nextId = 1
let stopping: AbortController | undefined

export function stop(): void {
  stopping?.abort()
}

export function clear(): void {
  stop()
  conversation.set({ turns: [], running: false })
}

export async function ask(text: string, options: AskOptions): Promise<void> {
  const question: Turn = { id: nextId++, role: 'user', text, state: 'done' }
  const answer: Turn = { id: nextId++, role: 'assistant', text: '', state: 'writing' }
  const earlier = conversation.get().turns
  const abort = new AbortController()
  stopping = abort
  conversation.set({ turns: [...earlier, question, answer], running: true })
  try {
    await read([...earlier, question], answer, options, abort.signal)
  } catch (error) {
    change(answer.id, abort.signal.aborted ? { state: 'stopped' } : { state: 'failed', error })
  }
  if (stopping === abort) conversation.set({ ...conversation.get(), running: false })
}

async function read(
  turns: readonly Turn[],
  answer: Turn,
  options: AskOptions,
  signal: AbortSignal,
): Promise<void> {
  const { verified, model, system, maxTokens } = options
  const opening = system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]
  const said = turns
    .filter(({ text }) => text !== '')
    .map(({ role, text }) => ({ role, content: text }))
  const request = { model, messages: [...opening, ...said], max_completion_tokens: maxTokens }
  const { stream, seen } = await callVerified(verified, async ({ client, watched }) => ({
    stream: await client.chat.stream(request, { signal }),
    seen: watched.last(),
  }))
  const { requestId } = stream
  change(answer.id, { proof: { requestId, receipt: { kind: 'none' }, seen } })
  let text = ''
  for await (const chunk of stream) {
    if (signal.aborted) break // leaving the loop stops the generation
    text += chunk.choices[0]?.delta.content ?? ''
    change(answer.id, { text })
  }
  signal.throwIfAborted()
  const receipt = await stream.receipt().then(
    (verified) => ({ kind: 'verified', receipt: verified }) as const,
    (error: unknown) => ({ kind: 'refused', error }) as const,
  )
  change(answer.id, { state: 'done', proof: { requestId, receipt, seen } })
}

function change(id: number, facts: Partial<Turn>): void {
  const { turns, running } = conversation.get()
  const changed = turns.map((turn) => (turn.id === id ? { ...turn, ...facts } : turn))
  conversation.set({ turns: changed, running })
}
