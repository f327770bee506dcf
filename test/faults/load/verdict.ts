/** Classifies an answer: correct and complete, an explicit error, or a violation. */
import { answerTo, embeddingOf, type Question } from './question.ts'
import type { Reply } from './raw-exchange.ts'

export type Verdict =
  | { readonly kind: 'right' }
  /** An explicit error; `what` is short and one of a few values. */
  | { readonly kind: 'error'; readonly what: string }
  /** What must never happen. */
  | { readonly kind: 'violation'; readonly what: string }

type Json = { readonly [field: string]: unknown }

const violation = (what: string): Verdict => ({ kind: 'violation', what })
const failed = (what: string): Verdict => ({ kind: 'error', what })

export function judge(question: Question, reply: Reply): Verdict {
  if (reply.status === 0) return failed(reply.ending === 'cut' ? 'no answer' : reply.ending)
  if (reply.status !== 200) return judgeError(reply)
  return question.stream ? judgeStream(question, reply) : judgeWhole(question, reply)
}

function judgeError({ status, text, ending }: Reply): Verdict {
  const error = parse(text)?.error as Json | undefined
  if (error !== undefined) return failed(`${status} ${String(error.code ?? error.type)}`)
  return ending === 'whole' ? violation(`status ${status} without an error in it`) : failed(ending)
}

function judgeWhole(question: Question, { text, ending }: Reply): Verdict {
  if (ending !== 'whole') return failed(`answer ${ending}`)
  const answer = parse(text)
  if (answer === undefined) return violation('a whole answer that is not JSON')
  if (question.kind === 'embeddings') {
    const [item] = (answer.data ?? []) as { embedding?: unknown }[]
    const right = JSON.stringify(item?.embedding) === JSON.stringify(embeddingOf(question.prompt))
    return right ? { kind: 'right' } : violation('another embedding')
  }
  return compare(wholeText(question, answer), question)
}

function wholeText({ kind }: Question, answer: Json): string {
  const [choice] = (answer.choices ?? answer.content ?? []) as Json[]
  const message = choice?.message as Json | undefined
  return String(kind === 'chat' ? message?.content : choice?.text)
}

function compare(said: string, question: Question): Verdict {
  const right = answerTo(question.prompt)
  if (said === right) return { kind: 'right' }
  if (right.startsWith(said)) return violation(`a short answer: ${said.length} of ${right.length}`)
  return violation(`another answer: ${said.slice(0, 80)}`)
}

function judgeStream(question: Question, reply: Reply): Verdict {
  let said = ''
  let ended = false
  let error: Json | undefined
  for (const data of eventsOf(reply.text)) {
    if (data === '[DONE]') {
      ended = true
      continue
    }
    const event = parse(data)
    if (event === undefined) continue // the last one may be incomplete
    if (event.error !== undefined) error = event.error as Json
    if (event.type === 'message_stop') ended = true
    said += deltaText(event)
  }
  if (!answerTo(question.prompt).startsWith(said)) return compare(said, question)
  if (error !== undefined) return failed(`stream: ${String(error.code ?? error.type)}`)
  if (ended) return compare(said, question)
  if (reply.ending === 'whole') return violation('a stream that ends well without its end')
  return failed(`stream ${reply.ending}`)
}

function deltaText(event: Json): string {
  if (event.type === 'content_block_delta') return String((event.delta as Json).text ?? '')
  const [choice] = (event.choices ?? []) as Json[]
  const delta = choice?.delta as Json | undefined
  return String(delta?.content ?? choice?.text ?? '')
}

/** The data of each complete event. */
function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => block.split('\n').filter((line) => line.startsWith('data: ')))
    .map((lines) => lines.map((line) => line.slice('data: '.length)).join('\n'))
    .filter((data) => data !== '')
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Json) : undefined
  } catch {
    return undefined
  }
}
