/** Conversations: sealed and kept in this browser, encrypted at rest until the visitor signs out. */
import type { ApiStream, ChatChunk, Privatemode, Receipt } from '@privatemode/sdk'
import { buildRequest, type ChatSettings } from '../../../chat/build-request.ts'
import { keptConversations, maxKept } from '../../../chat/kept-conversations.ts'
import { describeFailure } from '../../../words/describe-failure.ts'
import { createStore } from '../../store.ts'
import { callVerified, type Verified } from '../../trust/connection.ts'
import type { SealedView } from '../../trust/sealed-view.ts'
import type { ShownCheck } from '../verification/checks.tsx'
import { openVault, saveToVault } from './conversation-vault.ts'

export type Turn = {
  readonly id: number
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly state: 'writing' | 'done' | 'stopped' | 'failed'
  readonly images?: readonly string[]
  readonly toolCalls?: readonly ToolCall[]
  readonly failure?: { readonly reason: string; readonly next: string }
  /** For a question: what left this browser. */
  readonly sent?: SealedView
  /** For an answer: which machine gave it, and what was signed. */
  readonly proof?: Proof
}

export type ToolCall = { readonly name: string; readonly input: string }

/** The proof for one answer. Plain data: it is stored with the conversation. */
export type Proof = {
  readonly requestId: string
  readonly machine?: Machine
  readonly receipt:
    | { readonly kind: 'verified'; readonly facts: ReceiptFacts }
    | { readonly kind: 'refused'; readonly reason: string }
    /** The answer is complete; its receipt follows the padding that hides its length. */
    | { readonly kind: 'awaited' }
    /**
     * There is no signature: the answer did not complete, or the page was closed before the receipt
     * arrived.
     */
    | { readonly kind: 'none' }
}

export type Machine = {
  readonly id: string
  readonly hardware: boolean
  readonly engine: string
  readonly build: string
}

export type ReceiptFacts = {
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly durationMs: number
  readonly checks: readonly ShownCheck[]
  /** The signed record in base64, as needed to audit a bill. */
  readonly record: string
}

export type Conversation = {
  readonly id: string
  readonly startedAt: string
  readonly turns: readonly Turn[]
}

export type Conversations = {
  readonly all: readonly Conversation[]
  readonly currentId: string
  readonly running: boolean
}

const fresh = (): Conversation => ({
  id: crypto.randomUUID?.() ?? String(Math.random()),
  startedAt: new Date().toISOString(),
  turns: [],
})

const begin = (): Conversations => {
  const first = fresh()
  return { all: [first], currentId: first.id, running: false }
}

export const conversations = createStore<Conversations>(begin())

export const currentOf = ({ all, currentId }: Conversations): Conversation =>
  all.find(({ id }) => id === currentId) ?? fresh()

/** The title of a conversation: how it began. */
export const titleOf = ({ turns }: Conversation): string =>
  turns[0]?.text.trim().replace(/\s+/g, ' ').slice(0, 48) || 'New conversation'

let stopping: AbortController | undefined
let owner: string | undefined
let saving: Promise<void> = Promise.resolve()

export function stop(): void {
  stopping?.abort()
}

/** Opens what this member saved in this browser; repeated calls do nothing. */
export async function restoreConversations(memberId: string): Promise<void> {
  if (owner === memberId) return
  owner = memberId
  const kept = (await openVault(memberId).catch(() => undefined)) as Conversations | undefined
  if (owner !== memberId || !Array.isArray(kept?.all) || kept.all.length === 0) return
  const { all, currentId } = conversations.get()
  const begun = all.filter(({ turns }) => turns.length > 0)
  const empty = fresh()
  const earlier = kept.all.filter(({ turns }) => turns.length > 0).map(withoutAwaited)
  const [first = empty, ...rest] = [...begun, ...earlier]
  const merged = [first, ...rest]
  const isKnown = merged.some(({ id }) => id === currentId)
  conversations.set({ all: merged, currentId: isKnown ? currentId : first.id, running: false })
}

/** A receipt that had not arrived when the page was closed will not arrive any more. */
function withoutAwaited(conversation: Conversation): Conversation {
  const turns = conversation.turns.map((turn) =>
    turn.proof?.receipt.kind === 'awaited'
      ? { ...turn, proof: { ...turn.proof, receipt: { kind: 'none' } as const } }
      : turn,
  )
  return { ...conversation, turns }
}

/** Clears this page's memory; signing out deletes the vault. */
export function clearConversations(): void {
  stop()
  owner = undefined
  conversations.set(begin())
}

export function startConversation(): void {
  stop()
  const { all } = conversations.get()
  const empty = all.find(({ turns }) => turns.length === 0) ?? fresh()
  const others = all.filter(({ id, turns }) => id !== empty.id && turns.length > 0)
  conversations.set({
    all: [empty, ...others].slice(0, maxKept),
    currentId: empty.id,
    running: false,
  })
}

export function openConversation(id: string): void {
  stop()
  conversations.set({ ...conversations.get(), currentId: id, running: false })
}

export function deleteConversation(id: string): void {
  stop()
  const { all } = conversations.get()
  const left = all.filter((one) => one.id !== id)
  const [first] = left
  if (first === undefined) conversations.set(begin())
  else conversations.set({ all: left, currentId: first.id, running: false })
  save()
}

export type Question = {
  readonly text: string
  readonly images: readonly string[]
  /** The question that this one replaces, along with everything after it. */
  readonly inPlaceOf?: number | undefined
}

export type AskOptions = {
  readonly verified: Verified
  readonly model: string
  readonly settings: ChatSettings
}

export async function ask(question: Question, options: AskOptions): Promise<void> {
  const state = conversations.get()
  const { id, turns } = currentOf(state)
  const cut = turns.findIndex((turn) => turn.id === question.inPlaceOf)
  const earlier = cut < 0 ? turns : turns.slice(0, cut)
  const nextId = Math.max(0, ...turns.map((turn) => turn.id)) + 1
  const { text, images } = question
  const asked: Turn = {
    id: nextId,
    role: 'user',
    text,
    state: 'done',
    ...(images.length > 0 ? { images } : {}),
  }
  const answer: Turn = { id: nextId + 1, role: 'assistant', text: '', state: 'writing' }
  const abort = new AbortController()
  stopping = abort
  replaceTurns(id, [...earlier, asked, answer], true)
  try {
    const prove = await read(id, [...earlier, asked], asked, answer, options, abort.signal)
    finish(abort)
    await prove?.()
  } catch (error) {
    const failed = { state: 'failed', failure: describeFailure(error) } as const
    change(id, answer.id, abort.signal.aborted ? { state: 'stopped' } : failed)
    finish(abort)
  }
  save()
}

/** The next question need not wait for a receipt, and stopping must not cut the padding before it. */
function finish(abort: AbortController): void {
  if (stopping === abort) {
    stopping = undefined
    conversations.set({ ...conversations.get(), running: false })
  }
  save()
}

/** Asks the last question again. */
export async function retry(options: AskOptions): Promise<void> {
  const question = currentOf(conversations.get()).turns.findLast(({ role }) => role === 'user')
  if (question === undefined) return
  const { id, text, images = [] } = question
  await ask({ text, images, inPlaceOf: id }, options)
}

/** Reads an answer to the end of its text; returns what remains to be done when its receipt arrives. */
async function read(
  id: string,
  turns: readonly Turn[],
  asked: Turn,
  answer: Turn,
  { verified, model, settings }: AskOptions,
  signal: AbortSignal,
): Promise<(() => Promise<void>) | undefined> {
  const built = buildRequest(model, turns, settings)
  if (built.kind === 'wrong') {
    const failure = { reason: built.reason, next: 'Change it under “Model settings”.' }
    change(id, answer.id, { state: 'failed', failure })
    return undefined
  }
  const { stream, sent, client } = await callVerified(verified, async ({ client, watched }) => ({
    stream: await client.chat.stream(built.request, { signal }),
    sent: watched.last(),
    client,
  }))
  if (sent !== undefined) change(id, asked.id, { sent })
  const { requestId } = stream
  const nothing: Proof = { requestId, receipt: { kind: 'none' } }
  change(id, answer.id, { proof: nothing })
  const writing = new Writing()
  for await (const chunk of stream) {
    if (signal.aborted) break // leaving the loop stops the generation
    change(id, answer.id, writing.add(chunk))
  }
  signal.throwIfAborted()
  const awaited: Proof = { requestId, receipt: { kind: 'awaited' } }
  change(id, answer.id, { state: 'done', proof: awaited })
  return async () => {
    const proof = await proofOf(stream, client)
    change(id, answer.id, { proof })
  }
}

async function proofOf(stream: ApiStream<ChatChunk>, client: Privatemode): Promise<Proof> {
  const receipt = await stream.receipt().then(
    (signed) => ({ kind: 'verified', facts: factsOf(signed), workerId: signed.workerId }) as const,
    (error: unknown) => ({ kind: 'refused', reason: describeFailure(error).reason }) as const,
  )
  const { workers } = client.verification.transcript()
  const worker =
    receipt.kind === 'verified'
      ? workers.find(({ worker_id }) => worker_id === receipt.workerId)
      : undefined
  const machine = worker && {
    ...{ id: worker.worker_id, hardware: worker.hardware },
    ...{ engine: worker.engine, build: worker.build },
  }
  return { requestId: stream.requestId, receipt, ...(machine === undefined ? {} : { machine }) }
}

/** An answer that arrives in pieces: text, and tool calls. */
class Writing {
  #text = ''
  readonly #calls: { name: string; input: string }[] = []

  add(chunk: ChatChunk): Partial<Turn> {
    const delta = chunk.choices[0]?.delta
    this.#text += delta?.content ?? ''
    for (const piece of (delta?.tool_calls ?? []) as readonly ToolPiece[]) {
      const index = piece.index ?? 0
      const call = this.#calls[index] ?? { name: '', input: '' }
      this.#calls[index] = call
      call.name += piece.function?.name ?? ''
      call.input += piece.function?.arguments ?? ''
    }
    const toolCalls = this.#calls.map((call) => ({ ...call }))
    return { text: this.#text, ...(toolCalls.length === 0 ? {} : { toolCalls }) }
  }
}
type ToolPiece = {
  readonly index?: number
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

function factsOf(receipt: Receipt): ReceiptFacts {
  const { model, promptTokens, completionTokens, cachedTokens, durationMs, checks } = receipt
  const record = btoa(String.fromCharCode(...receipt.signed.record))
  return { model, promptTokens, completionTokens, cachedTokens, durationMs, checks, record }
}

function change(id: string, turnId: number, facts: Partial<Turn>): void {
  const conversation = conversations.get().all.find((one) => one.id === id)
  if (conversation === undefined) return // deleted meanwhile
  const turns = conversation.turns.map((turn) =>
    turn.id === turnId ? { ...turn, ...facts } : turn,
  )
  replaceTurns(id, turns, conversations.get().running)
}

function replaceTurns(id: string, turns: readonly Turn[], running: boolean): void {
  const { all, currentId } = conversations.get()
  const changed = all.map((one) => (one.id === id ? { ...one, turns } : one))
  conversations.set({ all: changed, currentId, running })
}

/** Saves are serialized. If saving fails, as in a private window, it is kept in memory only. */
function save(): void {
  const memberId = owner
  if (memberId === undefined) return
  saving = saving
    .then(async () => {
      if (owner !== memberId) return
      const { all, currentId } = conversations.get()
      const kept = keptConversations(all, currentId)
      await saveToVault(memberId, { all: kept, currentId, running: false })
    })
    .catch(() => {})
}

/** Resolves when no save is in progress: data deleted after that stays deleted. */
export const settledSaves = (): Promise<void> => saving
