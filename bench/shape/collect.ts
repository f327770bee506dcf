/** Plays conversations through proxy, gateway and worker, and notes what a watcher sees of them. */
import { appendFileSync, writeFileSync } from 'node:fs'
import type { ScriptedReply } from '../../packages/inference/src/testing/scripted-model.ts'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { startExtraProxy } from '../../test/clients/extra-proxies.ts'
import { type RunningStack, runStack } from '../../test/e2e/running-stack.ts'
import type { SeenExchange } from './record-exchange.ts'
import { startRecordingRelay } from './recording-relay.ts'
import type { ScriptedConversation } from './scripted-conversation.ts'

export type Mode = 'off' | 'default' | 'strict'

/** What the study keeps of one exchange: the watcher's view and, to judge guesses, the truth. */
export type ObservedExchange = Omit<SeenExchange, 'requestId'> & {
  /** Bytes of each token's text. */
  readonly tokenLengths: readonly number[]
  readonly promptTokens: number
  /** How long the answer takes where nothing is late. */
  readonly scriptedMs: number
  /** As the application saw it. */
  readonly firstTokenMs: number
  readonly totalMs: number
}

export type Observation = {
  readonly mode: Mode
  readonly topic: string
  readonly group: string
  readonly exchanges: readonly ObservedExchange[]
}

export type CollectOptions = {
  readonly modes: readonly Mode[]
  readonly concurrency: number
  readonly outPath: string
  readonly onProgress: (mode: Mode, done: number, failed: number) => void
}

const exchangeLimitMs = 180_000

export async function collect(
  conversations: readonly ScriptedConversation[],
  options: CollectOptions,
): Promise<void> {
  const replies = new Map<number, ScriptedReply>()
  const server = startScriptedServer({
    kind: 'vllm',
    models: ['scripted'],
    contextLength: 100_000,
    cache: 'none',
    reply: ({ body }) => replies.get(Number(body.seed)),
  })
  const stack = await runStack(['--engineUrl', server.url])
  writeFileSync(options.outPath, '')
  try {
    for (const mode of options.modes) {
      const session = { stack, replies, mode, forget: () => server.requests.splice(0) }
      await collectMode(session, conversations, options)
    }
  } finally {
    await stack.stop()
    await server.stop()
  }
}

type Session = {
  readonly stack: RunningStack
  readonly replies: Map<number, ScriptedReply>
  readonly mode: Mode
  /** The server keeps what it was asked; nobody looks at it here. */
  readonly forget: () => void
}

async function collectMode(
  session: Session,
  conversations: readonly ScriptedConversation[],
  options: CollectOptions,
): Promise<void> {
  const { stack, mode } = session
  const seen = new Map<string, (exchange: SeenExchange) => void>()
  const early = new Map<string, SeenExchange>()
  const relay = startRecordingRelay(stack.gatewayUrl, (exchange) => {
    const take = seen.get(exchange.requestId)
    if (take === undefined) early.set(exchange.requestId, exchange)
    else take(exchange)
  })
  const untilSeen = (id: string) => {
    const there = early.get(id)
    early.delete(id)
    if (there !== undefined) return Promise.resolve(there)
    return new Promise<SeenExchange>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the exchange never ended')), exchangeLimitMs)
      seen.set(id, (exchange) => {
        clearTimeout(timer)
        seen.delete(id)
        resolve(exchange)
      })
    })
  }
  const { process: proxy } = await startExtraProxy(stack, {
    apiEndpoint: relay.url,
    apiKey: stack.apiKey,
    args: ['--trafficShape', mode],
  })
  const counts = { next: 0, done: 0, failed: 0 }
  const play = async () => {
    for (let index = counts.next++; index < conversations.length; index = counts.next++) {
      const conversation = conversations[index]
      if (conversation === undefined) return
      try {
        const observed = await playConversation(session, proxy.url, conversation, index, untilSeen)
        appendFileSync(options.outPath, `${JSON.stringify(observed)}\n`)
        counts.done++
      } catch (error) {
        counts.failed++
        if (counts.failed < 5) console.error('a conversation failed:', error)
      }
      session.forget()
      options.onProgress(mode, counts.done, counts.failed)
    }
  }
  // Strict streams are mostly silence, and long.
  const atATime = options.concurrency * (mode === 'strict' ? 3 : 1)
  await Promise.all(Array.from({ length: atATime }, play))
  await proxy.stop()
  relay.stop()
}

async function playConversation(
  { replies, mode }: Session,
  proxyUrl: string,
  { topic, group, turns }: ScriptedConversation,
  index: number,
  untilSeen: (requestId: string) => Promise<SeenExchange>,
): Promise<Observation> {
  const messages: { role: string; content: string }[] = []
  const exchanges: ObservedExchange[] = []
  for (const [position, turn] of turns.entries()) {
    // The number tells the model server what to say; it has as many digits for all.
    const seed = 100_000 + index * 4 + position
    replies.set(seed, turn)
    messages.push({ role: 'user', content: turn.question })
    const heard = await ask(proxyUrl, seed, messages)
    replies.delete(seed)
    const truth = turn.tokens.join('')
    if (heard.text !== truth) throw new Error('the answer is not what the model said')
    messages.push({ role: 'assistant', content: truth })
    const { requestId: _, ...view } = await untilSeen(heard.requestId)
    exchanges.push({
      ...view,
      tokenLengths: turn.tokens.map((token) => Buffer.byteLength(token)),
      promptTokens: heard.promptTokens,
      scriptedMs: turn.pacesMs.slice(1).reduce((sum, each) => sum + each, turn.prefillMs),
      firstTokenMs: heard.firstTokenMs,
      totalMs: heard.totalMs,
    })
  }
  return { mode, topic, group, exchanges }
}

type Heard = {
  readonly requestId: string
  readonly text: string
  readonly promptTokens: number
  readonly firstTokenMs: number
  readonly totalMs: number
}

/** As an application asks: a plain streaming call to the proxy. */
async function ask(proxyUrl: string, seed: number, messages: unknown): Promise<Heard> {
  const started = performance.now()
  const response = await fetch(`${proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'scripted', stream: true, seed, messages },
      stream_options: { include_usage: true },
    }),
    signal: AbortSignal.timeout(exchangeLimitMs),
  })
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
  let [text, buffered, firstTokenMs, promptTokens] = ['', '', 0, 0]
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    buffered += decoder.decode(chunk, { stream: true })
    const events = buffered.split('\n\n')
    buffered = events.pop() ?? ''
    for (const event of events) {
      if (!event.startsWith('data: {')) continue
      const { choices, usage } = JSON.parse(event.slice(6)) as Chunk
      const content = choices[0]?.delta?.content ?? ''
      if (content !== '' && firstTokenMs === 0) firstTokenMs = performance.now() - started
      text += content
      promptTokens = usage?.prompt_tokens ?? promptTokens
    }
  }
  const requestId = response.headers.get('x-request-id') ?? ''
  return { requestId, text, promptTokens, firstTokenMs, totalMs: performance.now() - started }
}

type Chunk = {
  readonly choices: { readonly delta?: { readonly content?: string } }[]
  readonly usage?: { readonly prompt_tokens: number }
}
