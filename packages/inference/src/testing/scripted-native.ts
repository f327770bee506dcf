/** The scripted model server's native messages and responses. */
import type { JsonObject, NativeEndpoint } from '../engine.ts'
import { contentText } from './scripted-model.ts'
import { createPace, piecesOf, type ReplyContext, streamReply, wait } from './scripted-reply.ts'

/** The same request as a chat, as such servers translate it before their template. */
export function asChat(endpoint: NativeEndpoint, body: JsonObject): JsonObject {
  const { model, cache_salt, stream, max_tokens, max_output_tokens } = body
  const limit = max_tokens ?? max_output_tokens
  const system = body.system ?? body.instructions
  const turns = endpoint === 'messages' ? body.messages : inputItems(body.input)
  const tools = (body.tools as JsonObject[] | undefined)?.map((tool) => ({ function: tool }))
  return {
    ...{ model, cache_salt, stream, stop: body.stop_sequences },
    ...(limit === undefined ? {} : { max_tokens: limit }),
    ...(tools === undefined ? {} : { tools }),
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...(turns as JsonObject[]).map(asTurn),
    ],
  }
}

function inputItems(input: unknown): JsonObject[] {
  return Array.isArray(input) ? input : [{ role: 'user', content: input }]
}

function asTurn({ role, content, output, type }: JsonObject): JsonObject {
  if (type === 'function_call_output') return { role: 'tool', content: output }
  const blocks = Array.isArray(content) ? (content as JsonObject[]) : []
  const result = blocks.find((block) => block.type === 'tool_result')
  if (result !== undefined) return { role: 'tool', content: contentText(result.content) }
  const texts = blocks.map((block) => block.text ?? `<${block.type}>`)
  return { role, content: Array.isArray(content) ? texts.join(' ') : content }
}

export async function answerNatively(
  endpoint: NativeEndpoint,
  context: ReplyContext,
  signal: AbortSignal,
): Promise<Response> {
  await wait(context.reply.prefillMs ?? 0, signal)
  if (context.body.stream !== true)
    return Response.json(await nativeWhole(endpoint, context, signal))
  async function* events(): AsyncGenerator<string> {
    for await (const event of nativeEvents(endpoint, context, signal))
      yield typeof event.raw === 'string' ? event.raw : JSON.stringify(event)
  }
  // vLLM closes the connection on a response that it refuses late, without a message.
  const isLate = endpoint === 'responses' && context.reply.lateError !== undefined
  const hangsUp = isLate && context.kind !== 'sglang'
  const reply = hangsUp ? { ...context.reply, dieAfter: 2 } : context.reply
  return streamReply({ ...context, reply }, signal, events())
}

/** Every event of an answer; a complete answer is derived from the same events. */
async function* nativeEvents(
  endpoint: NativeEndpoint,
  context: ReplyContext,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  const events = [...(endpoint === 'messages' ? messageEvents(context) : responseEvents(context))]
  const { failAfter, lateError } = context.reply
  if (lateError !== undefined) {
    // What vLLM 0.32 does: an error that quotes another one, or nothing after the start.
    const error = { type: 'internal_error', message: `2 validation errors: ${lateError.message}` }
    if (endpoint === 'messages') yield { type: 'error', error }
    else yield* events.slice(0, 2)
    const isTold = endpoint === 'responses' && context.kind === 'sglang'
    if (isTold) yield { type: 'response.failed', response: { status: 'failed', error } }
    return
  }
  let pieces = 0
  const untilDue = createPace(context.reply, signal)
  for (const event of context.revise?.(events) ?? events) {
    const isPiece = String(event.type).endsWith('delta') && event.type !== 'message_delta'
    if (isPiece) await untilDue(pieces)
    if (isPiece && pieces++ === failAfter) {
      const error = { type: 'api_error', message: 'it failed at SECRET' }
      const failed = { type: 'response.failed', response: { status: 'failed', error } }
      yield endpoint === 'messages' ? { type: 'error', error } : failed
      return
    }
    yield event
  }
}

async function nativeWhole(
  endpoint: NativeEndpoint,
  context: ReplyContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  const events: JsonObject[] = []
  for await (const event of nativeEvents(endpoint, context, signal)) events.push(event)
  if (endpoint === 'responses') return events.at(-1)?.response as JsonObject
  const blocks = [...messageBlocks(context)].map(({ block, pieces }) => ({
    ...block,
    ...(block.type === 'text' ? { text: pieces.join('') } : {}),
    ...(block.type === 'thinking' ? { thinking: pieces.join('') } : {}),
    ...(block.type === 'tool_use' ? { input: JSON.parse(pieces.join('')) } : {}),
  }))
  const { delta, usage } = events.find(({ type }) => type === 'message_delta') as JsonObject
  return { ...messageHead(context), ...(delta as JsonObject), usage, content: blocks }
}

type Block = { block: JsonObject; pieces: string[] }

function* messageBlocks(context: ReplyContext): Generator<Block> {
  const deltas = piecesOf(context).pieces.map(({ delta }) => delta)
  const reasoning = deltas.flatMap((delta) => (delta.reasoning as string | undefined) ?? [])
  const text = deltas.flatMap((delta) => (delta.content as string | undefined) ?? [])
  if (reasoning.length > 0) yield { block: { type: 'thinking', thinking: '' }, pieces: reasoning }
  if (text.length > 0) yield { block: { type: 'text', text: '' }, pieces: text }
  for (const [i, { name, arguments: input }] of (context.reply.toolCalls ?? []).entries()) {
    const block = { type: 'tool_use', id: `toolu_${i}`, name, input: {} }
    yield { block, pieces: [JSON.stringify(input)] }
  }
}

function messageHead({ body }: ReplyContext): JsonObject {
  const head = { id: 'scripted-1', type: 'message', role: 'assistant', model: `path/${body.model}` }
  const transfers = { kv_transfer_params: { host: 'SECRET' }, ec_transfer_params: 'SECRET' }
  return { ...head, content: [], stop_reason: null, ...transfers }
}

const deltaOf: Readonly<Record<string, readonly [string, string]>> = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
}

function* messageEvents(context: ReplyContext): Generator<JsonObject> {
  const { promptCount, cachedCount = 0 } = context
  const counts = (output_tokens: number) => ({
    ...{ input_tokens: promptCount - cachedCount, output_tokens },
    ...(context.cachedCount === undefined ? {} : { cache_read_input_tokens: cachedCount }),
  })
  const { pieces, end } = piecesOf(context)
  yield { type: 'message_start', message: { ...messageHead(context), usage: counts(0) } }
  let index = 0
  for (const { block, pieces } of messageBlocks(context)) {
    yield { type: 'content_block_start', index, content_block: block }
    const [type = '', field = ''] = deltaOf[String(block.type)] ?? []
    for (const piece of pieces)
      yield { type: 'content_block_delta', index, delta: { type, [field]: piece } }
    yield { type: 'content_block_stop', index: index++ }
  }
  const reasons: JsonObject = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }
  const stop_reason =
    end.stop_reason === null ? reasons[String(end.finish_reason)] : 'stop_sequence'
  const delta = { stop_reason, stop_sequence: end.stop_reason }
  yield { type: 'message_delta', delta, usage: counts(pieces.length) }
  yield { type: 'message_stop' }
}

function* responseEvents(context: ReplyContext): Generator<JsonObject> {
  const { body, promptCount, cachedCount, reply } = context
  const { pieces, end } = piecesOf(context)
  const head = { id: 'resp_scripted', object: 'response', created_at: 1_750_000_000 }
  const begun = { ...head, model: `path/${body.model}`, status: 'in_progress', output: [] }
  yield { type: 'response.created', response: { ...begun, usage: null } }
  yield { type: 'response.in_progress', response: { ...begun, usage: null } }
  const words = pieces.flatMap(({ delta }) => (delta.content as string | undefined) ?? [])
  const text = { type: 'output_text', text: words.join(''), annotations: [] }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }
  if (words.length > 0) {
    const at = { output_index: 0, item_id: 'msg_1', content_index: 0 }
    const item = { ...message, status: 'in_progress', content: [] }
    yield { type: 'response.output_item.added', output_index: 0, item }
    yield { type: 'response.content_part.added', ...at, part: { ...text, text: '' } }
    for (const delta of words) yield { type: 'response.output_text.delta', ...at, delta }
    yield { type: 'response.output_text.done', ...at, text: text.text }
    yield { type: 'response.content_part.done', ...at, part: text }
    const done = { ...message, content: [text] }
    yield { type: 'response.output_item.done', output_index: 0, item: done }
  }
  const calls = (reply.toolCalls ?? []).map(({ name, arguments: input }, i) => ({
    ...{ id: `fc_${i}`, type: 'function_call', status: 'completed', call_id: `call_${i}`, name },
    arguments: JSON.stringify(input),
  }))
  const output = words.length > 0 ? [{ ...message, content: [text] }, ...calls] : calls
  const isCut = end.finish_reason === 'length'
  const usage = {
    input_tokens: promptCount,
    ...(cachedCount === undefined ? {} : { input_tokens_details: { cached_tokens: cachedCount } }),
    output_tokens: pieces.length,
    total_tokens: promptCount + pieces.length,
  }
  const status = isCut ? 'incomplete' : 'completed'
  const incomplete_details = isCut ? { reason: 'max_output_tokens' } : null
  const response = { ...begun, status, incomplete_details, output, usage }
  yield { type: `response.${status}`, response }
}
