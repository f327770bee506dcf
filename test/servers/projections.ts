/** The parts of an answer that must be the same on every path: text, calls, ends and counts, not names and times. */
import type { Answer, Json } from './entrances.ts'

export type Projection = (answer: Answer) => Json

const isRefusal = ({ status }: Answer) => status >= 400

/** A refusal is compared by its status: the text is ours on one path and the server's on the other. */
export const refused: Projection = ({ status, events }) => ({
  // In a stream servers refuse by an event after 200; callers of ours get the status.
  status: events.some((event) => event?.error || event?.type === 'error') ? 400 : status,
})

export const chatWhole: Projection = (answer) => {
  if (isRefusal(answer)) return refused(answer)
  const { choices, usage, prompt_logprobs } = answer.json
  return {
    choices: choices.map(({ message, finish_reason, logprobs }: Json) => ({
      text: message.content ?? '',
      reasoning: message.reasoning ?? '',
      calls: callsOf(message.tool_calls),
      finish_reason,
      tokens: logprobs?.content?.map(({ token, top_logprobs }: Json) => [
        token,
        top_logprobs.length,
      ]),
    })),
    usage: counts(usage),
    promptScores: prompt_logprobs?.length ?? 0,
  }
}

export const chatStream: Projection = (answer) => {
  if (isRefusal(answer) || answer.events[0]?.error) return refused(answer)
  const choices = new Map<number, Json>()
  let usage: Json
  for (const event of answer.events) {
    usage = event.usage ?? usage
    for (const { index, delta, text, finish_reason, logprobs } of event.choices ?? []) {
      const one = choices.get(index) ?? { text: '', reasoning: '', calls: [], finish_reason: null }
      one.text += delta?.content ?? text ?? ''
      one.reasoning += delta?.reasoning ?? ''
      for (const call of delta?.tool_calls ?? []) addCall(one.calls, call)
      one.finish_reason = finish_reason ?? one.finish_reason
      if (logprobs?.content) one.tokens = (one.tokens ?? 0) + logprobs.content.length
      choices.set(index, one)
    }
  }
  const all = [...choices].sort(([a], [b]) => a - b).map(([, one]) => one)
  for (const one of all) one.calls = one.calls.map(parseCall)
  return { choices: all, usage: usage && counts(usage), end: answer.events.at(-1) }
}

export const completionWhole: Projection = (answer) => {
  if (isRefusal(answer)) return refused(answer)
  const { choices, usage } = answer.json
  return {
    choices: choices.map(({ text, finish_reason, logprobs }: Json) => ({
      ...{ text, finish_reason, tokens: logprobs?.tokens },
    })),
    usage: counts(usage),
  }
}

export const messageWhole: Projection = (answer) => {
  if (isRefusal(answer)) return refused(answer)
  const { content, stop_reason, stop_sequence, usage } = answer.json
  return {
    content: content.map(block),
    stop_reason,
    stop_sequence: stop_sequence ?? null,
    usage: messageCounts(usage),
  }
}

export const messageStream: Projection = (answer) => {
  if (isRefusal(answer) || answer.events[0]?.type === 'error') return refused(answer)
  const blocks: Json[] = []
  let [end, usage, start]: Json[] = []
  for (const event of answer.events) {
    if (event.type === 'message_start') start = event.message.usage
    if (event.type === 'content_block_start') blocks.push({ ...event.content_block, json: '' })
    if (event.type === 'content_block_delta') addDelta(blocks.at(-1), event.delta)
    if (event.type === 'message_delta') [end, usage] = [event.delta, event.usage]
  }
  for (const one of blocks) if (one.json !== '') one.input = JSON.parse(one.json)
  return {
    content: blocks.map(block),
    stop_reason: end?.stop_reason,
    // The input is told at the start, by some servers again at the end.
    usage: usage && messageCounts({ ...start, ...usage }),
    end: answer.events.at(-1)?.type,
  }
}

export const responseWhole: Projection = (answer) => {
  if (isRefusal(answer)) return refused(answer)
  return response(answer.json)
}

export const responseStream: Projection = (answer) => {
  const last = answer.events.at(-1)
  const isWhole = last?.type === 'response.completed' || last?.type === 'response.incomplete'
  // vLLM ends some refused streams without a word.
  if (isRefusal(answer) || !isWhole) return { status: 400 }
  const deltas = answer.events.filter(({ type }) => type === 'response.output_text.delta')
  return { ...response(last.response), streamed: deltas.map(({ delta }: Json) => delta).join('') }
}

export const tokenCount: Projection = (answer) =>
  isRefusal(answer) ? refused(answer) : answer.json.input_tokens

export const vectors: Projection = (answer) => {
  if (isRefusal(answer)) return refused(answer)
  const { data, usage } = answer.json
  const shown = (value: Json) =>
    typeof value === 'string' ? value : value.map((number: number) => Number(number.toFixed(4)))
  return {
    vectors: data.map(({ embedding }: Json) => shown(embedding)),
    usage: usage.prompt_tokens,
  }
}

export const modelNames: Projection = (answer) =>
  isRefusal(answer)
    ? refused(answer)
    : (answer.json.data ?? [answer.json]).map(({ id }: Json) => id)

const counts = ({ prompt_tokens, completion_tokens }: Json) => [prompt_tokens, completion_tokens]

/** The cached part counts as input here, whichever field it is in. */
const messageCounts = (usage: Json) => [
  usage.input_tokens +
    (usage.cache_read_input_tokens ?? 0) +
    (usage.cache_creation_input_tokens ?? 0),
  usage.output_tokens,
]

function callsOf(calls: Json): Json[] {
  return (calls ?? []).map(({ function: { name, arguments: text } }: Json) =>
    parseCall([name, text]),
  )
}

function addCall(calls: Json[], { index, function: named }: Json): void {
  calls[index] ??= ['', '']
  calls[index][0] += named?.name ?? ''
  calls[index][1] += named?.arguments ?? ''
}

/** Whole answers and streams are written by other code of a server, with other spaces. */
const parseCall = ([name, text]: Json) => [name, argumentsOf(text)]

/** SGLang sends words that are not JSON where a forced tool's parameters make no sense to a model. */
function argumentsOf(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function block({ type, text, thinking, name, input }: Json): Json {
  if (type === 'tool_use') return { type, name, input }
  return type === 'thinking' ? { type, text: thinking.trim() } : { type, text: text.trim() }
}

function addDelta(open: Json, delta: Json): void {
  if (delta.text !== undefined) open.text += delta.text
  if (delta.thinking !== undefined) open.thinking += delta.thinking
  if (delta.partial_json !== undefined) open.json += delta.partial_json
}

function response({ status, output, usage }: Json): Json {
  const items = output.filter(({ type }: Json) => type === 'message' || type === 'function_call')
  return {
    status,
    output: items.map((item: Json) =>
      item.type === 'message'
        ? item.content.map(({ text }: Json) => text.trim()).join('')
        : parseCall([item.name, item.arguments]),
    ),
    usage: [usage.input_tokens, usage.output_tokens],
  }
}
