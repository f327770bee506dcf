/** Writes a scripted reply as a model server does, complete or as a stream. */
import type { JsonObject } from '../engine.ts'
import type { ServerKind } from '../servers/http-settings.ts'
import { type ScriptedReply, tokensOf } from './scripted-model.ts'

export type ReplyContext = {
  /** Defaults to vLLM. */
  readonly kind?: ServerKind
  readonly isChat: boolean
  readonly body: JsonObject
  readonly reply: ScriptedReply
  readonly promptCount: number
  readonly cachedCount: number | undefined
  /** Whether a chat starts with a chunk that has nothing but the role. */
  readonly announcesRole?: boolean
  /** Ends a stream as if its last token had been generated. */
  readonly stop?: AbortSignal
  /** Modifies the events of a native stream, as a broken server would. */
  readonly revise?: ((events: JsonObject[]) => JsonObject[]) | undefined
}

type Piece = { readonly delta: JsonObject; readonly tokens: number }

/** The deltas of a reply, truncated at the token limit and at stop strings. */
export function piecesOf({ reply, body }: ReplyContext): { pieces: Piece[]; end: JsonObject } {
  const limit = Number(body.max_completion_tokens ?? body.max_tokens ?? Number.POSITIVE_INFINITY)
  const { text, stop } = cutAtStop(reply.text ?? '', body.stop)
  const all: Piece[] = [
    ...tokensOf(reply.reasoning ?? '').map((reasoning) => ({ delta: { reasoning }, tokens: 1 })),
    ...(reply.tokens ?? tokensOf(text)).map((content) => ({ delta: { content }, tokens: 1 })),
    ...(reply.toolCalls ?? []).flatMap((call, index) => toolPieces(call, index)),
  ]
  const pieces = all.slice(0, limit)
  const hasTools = (reply.toolCalls?.length ?? 0) > 0
  const whole = hasTools ? 'tool_calls' : 'stop'
  const finish_reason = pieces.length < all.length ? 'length' : whole
  return { pieces, end: { finish_reason, stop_reason: stop } }
}

function toolPieces(call: { name: string; arguments: JsonObject }, index: number): Piece[] {
  const text = JSON.stringify(call.arguments)
  const half = Math.ceil(text.length / 2)
  const one = (fields: JsonObject) => ({ delta: { tool_calls: [{ index, ...fields }] }, tokens: 1 })
  return [
    one({
      id: `call_scripted_${index}`,
      type: 'function',
      function: { name: call.name, arguments: '' },
    }),
    one({ function: { arguments: text.slice(0, half) } }),
    one({ function: { arguments: text.slice(half) } }),
  ]
}

function cutAtStop(text: string, stop: unknown): { text: string; stop: string | null } {
  const stops = (Array.isArray(stop) ? stop : [stop]).filter((one) => typeof one === 'string')
  const found = stops
    .map((one) => ({ one, at: text.indexOf(one) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0]
  return found === undefined
    ? { text, stop: null }
    : { text: text.slice(0, found.at), stop: found.one }
}

function usageOf({ promptCount, cachedCount }: ReplyContext, completion: number): JsonObject {
  return {
    prompt_tokens: promptCount,
    completion_tokens: completion,
    total_tokens: promptCount + completion,
    prompt_tokens_details: cachedCount === undefined ? null : { cached_tokens: cachedCount },
  }
}

/** llama-server's own counts, which cover one choice. */
function timingsOf({ promptCount, cachedCount = 0 }: ReplyContext, predicted_n: number) {
  return { timings: { cache_n: cachedCount, prompt_n: promptCount - cachedCount, predicted_n } }
}

function headOf({ isChat, body }: ReplyContext, isStream: boolean): JsonObject {
  const chat = isStream ? 'chat.completion.chunk' : 'chat.completion'
  const object = isChat ? chat : 'text_completion'
  return { id: 'scripted-1', object, created: 1_750_000_000, model: body.model }
}

export async function completeReply(context: ReplyContext, signal: AbortSignal): Promise<Response> {
  await wait(context.reply.prefillMs ?? 0, signal)
  const { pieces, end } = piecesOf(context)
  const join = (name: string) => pieces.map(({ delta }) => delta[name] ?? '').join('')
  const calls = (context.reply.toolCalls ?? []).map((call, index) => ({
    id: `call_scripted_${index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }))
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : join('content'),
    reasoning: join('reasoning') || null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  const said = context.isChat ? { message } : { text: join('content') }
  const scores = { content: pieces.map(() => ({ token: '', logprob: -1, top_logprobs: [] })) }
  const choices = Array.from({ length: Number(context.body.n ?? 1) }, (_, index) => ({
    index,
    ...said,
    ...end,
    logprobs: context.kind === 'llama-server' && context.body.logprobs ? scores : null,
  }))
  const counted = context.kind === 'llama-server' ? 1 : choices.length
  const usage = usageOf(context, pieces.length * counted)
  return Response.json({ ...headOf(context, false), choices, usage })
}

export function streamReply(
  context: ReplyContext,
  signal: AbortSignal,
  source: AsyncGenerator<string> = eventsOf(context, signal),
): Response {
  const { reply } = context
  const encoder = new TextEncoder()
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent === reply.dieAfter) {
        await Bun.sleep(5) // what was sent before must have left
        controller.error()
        return
      }
      const next = await source.next()
      sent++
      // Without any pacing, a server would never yield.
      if (sent % 64 === 0) await new Promise((resolve) => setImmediate(resolve))
      if (next.done === true) controller.close()
      else controller.enqueue(encoder.encode(`data: ${next.value}\n\n`))
    },
    async cancel() {
      await source.return(undefined)
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

const stopped = { finish_reason: 'abort' }

async function* eventsOf(context: ReplyContext, signal: AbortSignal): AsyncGenerator<string> {
  const { reply, body } = context
  const options = (body.stream_options ?? {}) as JsonObject
  if (context.announcesRole === true && context.isChat) {
    const choices = [{ index: 0, delta: { role: 'assistant' } }]
    yield JSON.stringify({ ...headOf(context, true), choices })
  }
  if (reply.lateError !== undefined) {
    const { status: code, message } = reply.lateError
    yield JSON.stringify({ error: { message, type: 'BadRequestError', param: null, code } })
    yield '[DONE]'
    return
  }
  const { pieces, end } = piecesOf(context)
  const head = headOf(context, true)
  let sent = 0
  const indices = Array.from({ length: Number(body.n ?? 1) }, (_, index) => index)
  // Inside a stream the counts are per choice, as servers report them.
  const isLlamaServer = context.kind === 'llama-server'
  const counts = (tokens: number) => {
    if (isLlamaServer) return body.timings_per_token === true ? timingsOf(context, tokens) : {}
    return options.continuous_usage_stats === true ? { usage: usageOf(context, tokens) } : {}
  }
  const over = context.stop === undefined ? signal : AbortSignal.any([signal, context.stop])
  await wait(reply.prefillMs ?? 0, over)
  const untilDue = createPace(reply, over)
  for (const [i, { delta }] of pieces.entries()) {
    if (i === reply.failAfter) {
      yield JSON.stringify({
        error: { message: 'it failed', type: 'InternalServerError', code: 500 },
      })
      return
    }
    await untilDue(i)
    if (context.stop?.aborted) break
    sent++
    const said = context.isChat ? { delta } : { text: delta.content }
    for (const index of indices) {
      const choices = [{ index, ...said, finish_reason: null }]
      yield JSON.stringify({ ...head, choices, ...counts(i + 1) })
    }
  }
  const tokens = sent * indices.length
  const nothing = context.isChat ? { delta: {} } : { text: '' }
  for (const index of indices) {
    const choices = [{ index, ...nothing, ...(sent < pieces.length ? stopped : end) }]
    yield JSON.stringify({ ...head, choices, ...counts(sent) })
    if (isLlamaServer && options.include_usage === true) {
      const ofOne = { usage: usageOf(context, sent), ...timingsOf(context, sent) }
      yield JSON.stringify({ ...head, choices: [], ...ofOne })
    }
  }
  if (options.include_usage === true && !isLlamaServer)
    yield JSON.stringify({ ...head, choices: [], usage: usageOf(context, tokens) })
  yield '[DONE]'
}

/**
 * Waits until a token is due; the first has had its time. Like an engine on a dedicated machine, it
 * catches up after being late.
 */
export function createPace(
  reply: ScriptedReply,
  signal: AbortSignal,
): (index: number) => Promise<void> {
  let dueMs: number | undefined
  return (index) => {
    const ms = index > 0 ? (reply.pacesMs?.[index] ?? reply.paceMs ?? 0) : 0
    dueMs = (dueMs ?? performance.now()) + ms
    return ms === 0 ? Promise.resolve() : wait(dueMs - performance.now(), signal)
  }
}

export function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(stop, ms)
    signal.addEventListener('abort', stop)
  })
}
