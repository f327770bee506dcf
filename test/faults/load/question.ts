/** Questions whose correct answer is a function of the prompt, so that any other answer is detected. */
import { createHash } from 'node:crypto'
import type { Chance } from '../random.ts'

export type QuestionKind = 'chat' | 'messages' | 'completions' | 'embeddings'

export type Question = {
  readonly kind: QuestionKind
  readonly path: string
  readonly stream: boolean
  readonly prompt: string
  readonly body: string
}

export type QuestionShape = {
  readonly kind: QuestionKind
  readonly stream: boolean
  readonly words: number
  readonly paceMs: number
  /** Bytes of text that make the prompt longer. */
  readonly padBytes: number
}

export const chatModel = 'org/chat-1'
export const embedModel = 'org/embed-1'

/** Occurs in every prompt of a run, and nowhere else. */
export const newMarker = (chance: Chance): string =>
  `canary-${Array.from({ length: 32 }, () => chance.between(0, 15).toString(16)).join('')}`

/** Occurs in every answer to a prompt with the marker. */
export const answerMarker = (marker: string): string =>
  `said-${createHash('sha256').update(marker).digest('hex').slice(0, 32)}`

export function makeQuestion(marker: string, id: string, shape: QuestionShape): Question {
  const { kind, stream, words, paceMs, padBytes } = shape
  const pad = padBytes === 0 ? '' : ` ${'lorem '.repeat(Math.ceil(padBytes / 6))}`
  const prompt = `${marker} ${id} words=${words} pace=${paceMs}${pad}`
  return {
    kind,
    stream,
    prompt,
    path: paths[kind],
    body: JSON.stringify(bodyOf(kind, stream, prompt)),
  }
}

const paths: Readonly<Record<QuestionKind, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
}

function bodyOf(kind: QuestionKind, stream: boolean, prompt: string): object {
  const messages = [{ role: 'user', content: prompt }]
  switch (kind) {
    case 'chat':
      return { model: chatModel, stream, messages }
    case 'messages':
      return { model: chatModel, stream, max_tokens: 4096, messages }
    case 'completions':
      return { model: chatModel, stream, max_tokens: 4096, prompt }
    case 'embeddings':
      return { model: embedModel, input: prompt }
  }
}

/** The model's answer to a prompt: words that only this prompt produces. */
export function answerTo(prompt: string): string {
  const marker = /canary-[0-9a-f]{32}/.exec(prompt)?.[0] ?? ''
  const words = Number(/words=(\d+)/.exec(prompt)?.[1] ?? 1)
  const seed = createHash('sha256').update(prompt).digest('hex')
  const said = [answerMarker(marker)]
  for (let index = 0; said.length < words; index++) {
    said.push(...createHash('sha256').update(`${seed}${index}`).digest('hex').match(/.{8}/g)!)
  }
  return said.slice(0, words).join(' ')
}

export const paceOf = (prompt: string): number => Number(/pace=(\d+)/.exec(prompt)?.[1] ?? 0)

export function embeddingOf(prompt: string): number[] {
  const digest = createHash('sha256').update(prompt).digest()
  return Array.from({ length: 4 }, (_, index) => digest.readInt16BE(index * 2) / 32_768)
}
