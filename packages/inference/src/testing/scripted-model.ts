/** What the scripted model server answers: deterministic, and controlled by the request. */
import type { JsonObject } from '../engine.ts'

export type ToolCall = { readonly name: string; readonly arguments: JsonObject }

export type ScriptedReply = {
  readonly reasoning?: string
  readonly text?: string
  readonly toolCalls?: readonly ToolCall[]
  /** Time before the first token, like that of a long prompt. */
  readonly prefillMs?: number
  /** Time between tokens. */
  readonly paceMs?: number
  /** The text as tokens; defaults to its words. */
  readonly tokens?: readonly string[]
  /** Time before each token but the first, instead of one value for all. */
  readonly pacesMs?: readonly number[]
  /** Cuts the connection after this many chunks. */
  readonly dieAfter?: number
  /** Sends an error event after this many chunks. */
  readonly failAfter?: number
  /** Refuses late, as vLLM does: with a status, but in a stream with an event or an end after 200. */
  readonly lateError?: { readonly status: number; readonly message: string }
  /** Answers with this status instead. */
  readonly error?: { readonly status: number; readonly message: string }
}

export type Asked = {
  readonly body: JsonObject
  /** The text of the last message. */
  readonly last: string
  readonly lastRole: string
  readonly toolNames: readonly string[]
}

/** Extracts from a request of any endpoint what a reply depends on. */
export function readAsked(body: JsonObject): Asked {
  const messages = (body.messages as JsonObject[] | undefined) ?? []
  const last = messages.at(-1)
  const tools = (body.tools as { function: { name: string } }[] | undefined) ?? []
  return {
    body,
    last: last === undefined ? promptText(body.prompt) : contentText(last.content),
    lastRole: String(last?.role ?? 'user'),
    toolNames: tools.map((tool) => tool.function.name),
  }
}

/**
 * The reply that the last message requests in double brackets, as in `[[slow 500]] [[reason]]
 * hello`: `reason`, `tool NAME {…}`, `slow MS`, `pace MS`, `die N`, `fail N`, `error STATUS TEXT`,
 * `late STATUS TEXT`, `say TEXT`, `words N`. Without an instruction it echoes the message.
 */
export function orderedReply(asked: Asked): ScriptedReply {
  const orders = new Map<string, string>()
  const toolCalls: ToolCall[] = []
  for (const [, name = '', rest = ''] of asked.last.matchAll(/\[\[(\w+)\s*(.*?)\]\]/gs)) {
    const [tool = '', ...json] = rest.split(' ')
    if (name === 'tool')
      toolCalls.push({ name: tool, arguments: JSON.parse(json.join(' ') || '{}') })
    else orders.set(name, rest)
  }
  const plain = asked.last.replace(/\[\[.*?\]\]/gs, '').trim()
  const number = (name: string) => (orders.has(name) ? Number(orders.get(name)) : undefined)
  const failure = orders.get('error')
  const late = orders.get('late')
  const isCallable = asked.lastRole === 'user' && asked.body.tool_choice !== 'none'
  const calls = toolCalls.filter((call) => isCallable && asked.toolNames.includes(call.name))
  const repeated = Array.from({ length: number('words') ?? 0 }, (_, i) => `word${i}`).join(' ')
  return {
    ...(orders.has('reason') ? { reasoning: 'I think about it.' } : {}),
    ...(calls.length > 0
      ? { toolCalls: calls }
      : { text: plainText(asked, orders, plain, repeated) }),
    ...defined('prefillMs', number('slow')),
    ...defined('paceMs', number('pace')),
    ...defined('dieAfter', number('die')),
    ...defined('failAfter', number('fail')),
    ...(failure === undefined ? {} : { error: parseFailure(failure) }),
    ...(late === undefined ? {} : { lateError: parseFailure(late) }),
  }
}

function plainText(
  asked: Asked,
  orders: ReadonlyMap<string, string>,
  plain: string,
  repeated: string,
): string {
  if (orders.has('say')) return orders.get('say') ?? ''
  if (repeated !== '') return repeated
  const wantsJson = asked.body.response_format !== undefined
  const text = asked.lastRole === 'tool' ? `The tool said: ${plain}` : `You said: ${plain}`
  return wantsJson ? JSON.stringify({ answer: text }) : text
}

function parseFailure(order: string): { status: number; message: string } {
  const [status, ...words] = order.split(' ')
  return { status: Number(status), message: words.join(' ') }
}

function defined(name: string, value: number | undefined): Record<string, number> {
  return value === undefined ? {} : { [name]: value }
}

/** Tokens are words with the preceding space, so that they join to the text again. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S+/g) ?? []
}

/** The prompt as tokens, as a template would render the request. */
export function promptTokens(body: JsonObject): string[] {
  const messages = (body.messages as JsonObject[] | undefined) ?? []
  const tools = body.tools === undefined ? '' : `tools ${JSON.stringify(body.tools)} `
  const chat = messages.map((message) => {
    const calls = message.tool_calls === undefined ? '' : ` ${JSON.stringify(message.tool_calls)}`
    return `<${message.role}> ${contentText(message.content)}${calls}`
  })
  return tokensOf(messages.length > 0 ? `${tools}${chat.join('\n')}` : promptText(body.prompt))
}

function promptText(prompt: unknown): string {
  return Array.isArray(prompt) ? prompt.flat().join(' ') : String(prompt ?? '')
}

export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? '')
  return content
    .map((part: JsonObject) => (part.type === 'text' ? part.text : `<${part.type}>`))
    .join(' ')
}
