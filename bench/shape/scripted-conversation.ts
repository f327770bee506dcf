/** Conversations as a model server plays them: tokens with the times between them. */
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import { TokenText } from '../../packages/inference/src/llama/scheduling/token-text.ts'
import { modelPath } from '../../test/story-model.ts'
import type { Conversation } from './conversations.ts'
import type { Random } from './seeded-random.ts'

export type ScriptedTurn = {
  readonly question: string
  readonly tokens: readonly string[]
  readonly prefillMs: number
  /** Before each token; the first counts for nothing. */
  readonly pacesMs: readonly number[]
}

export type ScriptedConversation = {
  readonly topic: string
  readonly group: string
  readonly turns: readonly ScriptedTurn[]
}

export type Tokenize = (text: string) => string[]

/** Cuts text as Llama models do; their vocabulary comes with the smallest of them. */
export async function createTokenizer(): Promise<{ tokenize: Tokenize; close(): Promise<void> }> {
  const logLevel = LlamaLogLevel.disabled
  const llama = await getLlama({ gpu: false, build: 'never', logLevel, maxThreads: 1 })
  const model = await llama.loadModel({ modelPath: await modelPath('stories15m') })
  const text = new TokenText(model)
  const decoder = new TextDecoder()
  return {
    tokenize(whole) {
      const pieces = model.tokenize(whole).map((token) => decoder.decode(text.bytesOf(token)))
      // The vocabulary puts a space before the first word; servers take it off again.
      return pieces.map((piece, index) => (index === 0 ? piece.trimStart() : piece))
    },
    close: () => llama.dispose(),
  }
}

/**
 * Gives a conversation the pace of a busy server: each conversation its own mean, each token its
 * own time around it, and now and then a pause when others are let in.
 */
export function scriptConversation(
  { topic, group, turns }: Conversation,
  tokenize: Tokenize,
  random: Random,
): ScriptedConversation {
  const meanMs = 20 * Math.exp(0.2 * random.normal())
  const scripted = turns.map(({ question, answer }) => {
    const tokens = tokenize(answer)
    const prefillMs = 40 + question.length * 0.3 + 25 * Math.abs(random.normal())
    const pacesMs = tokens.map(() => {
      const pause = random.next() < 0.01 ? 60 + 60 * random.next() : 0
      return Math.max(1, meanMs * Math.exp(0.25 * random.normal()) + pause)
    })
    return { question, tokens, prefillMs, pacesMs }
  })
  return { topic, group, turns: scripted }
}
