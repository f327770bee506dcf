/** Which calls the study of packets makes: every kind of answer, on both legs, in every shape. */
import { type DrawnAnswer, drawAnswers } from './length-curve.ts'
import { type Random, seededRandom } from './seeded-random.ts'

export const shapes = ['off', 'default', 'strict'] as const
export const legs = ['sealed', 'proxyless'] as const
export const clients = ['openai', 'anthropic', 'openai-python', 'anthropic-python'] as const

export type Call = {
  /** Its place in the plan: a recording that was stopped goes on with those that it has not. */
  readonly index: number
  /** Which of the studies it belongs to. */
  readonly set: string
  readonly leg: (typeof legs)[number]
  readonly shape: (typeof shapes)[number]
  readonly kind: 'stream' | 'whole' | 'tools' | 'error' | 'embeddings' | 'conversation' | 'cache'
  readonly client: (typeof clients)[number]
  readonly topic: number
  /** What the attacker wants to know: tokens of the answer, of the one before it, or the number of inputs. */
  readonly tokens: number
  readonly paceMs: number
}

export type PlanOptions = {
  /** Answers of each of 7 topics in each row of the main table; the others have fewer. */
  readonly perTopic: number
  readonly seed: number
}

/**
 * All calls in random order: what else the machine does while they are recorded must not go along with what is
 * guessed. A recording in the order of topics showed a leak that was the load of the machine.
 */
export function planCalls({ perTopic, seed }: PlanOptions): Call[] {
  const random = seededRandom(seed)
  const calls: Omit<Call, 'index'>[] = []
  const some = (share: number) => Math.max(5, Math.round(perTopic * share))
  const add = (
    set: string,
    answers: readonly DrawnAnswer[],
    rows: { shapes: readonly Call['shape'][]; legs: readonly Call['leg'][]; kind: Call['kind'] },
  ) => {
    for (const shape of rows.shapes) {
      for (const leg of rows.legs) {
        for (const [index, { topic, tokens, paceMs }] of answers.entries()) {
          const client = clientOf(rows.kind, index)
          calls.push({ set, leg, shape, kind: rows.kind, client, topic, tokens, paceMs })
        }
      }
    }
  }
  const draw = (topics: number, tokensPerSecond: number, count: number) =>
    drawAnswers({ topics, tokensPerSecond }, random, count)
  const shaped = ['default', 'strict'] as const
  const main = draw(7, 50, perTopic)
  add('main', main, { shapes, legs, kind: 'stream' })
  add('main', main, { shapes, legs, kind: 'whole' })
  add('24 topics', draw(24, 50, some(0.3)), { shapes: shaped, legs: ['sealed'], kind: 'stream' })
  for (const speed of [10, 25, 100]) {
    const answers = draw(7, speed, some(speed === 10 ? 0.4 : 0.5))
    add(`${speed} tokens/s`, answers, { shapes: shaped, legs: ['sealed'], kind: 'stream' })
  }
  add('tools', draw(7, 50, some(0.3)), { shapes, legs, kind: 'tools' })
  add('errors', errors(some(1.5)), { shapes, legs, kind: 'error' })
  add('embeddings', inputs(some(2), random), { shapes, legs, kind: 'embeddings' })
  add('conversations', draw(7, 50, some(0.4)), { shapes, legs, kind: 'conversation' })
  add('cache hits', hits(some(2), random), { shapes, legs, kind: 'cache' })
  return shuffled(calls, random).map((call, index) => ({ ...call, index }))
}

/** Anthropic has no embeddings; the other kinds are asked in OpenAI's dialect, which is what they are about. */
function clientOf(kind: Call['kind'], index: number): Call['client'] {
  if (kind === 'stream' || kind === 'whole') return clients[index % clients.length] ?? 'openai'
  // Every second pair: whether an answer is an error goes by every second call.
  return Math.floor(index / 2) % 2 === 0 ? 'openai' : 'openai-python'
}

/** Half are errors, half the shortest answers: topic 0 and 1. */
function errors(count: number): DrawnAnswer[] {
  return Array.from({ length: count }, (_, index) => {
    const tokens = index % 2 === 0 ? 1 : 12 + (index % 15)
    return { topic: index % 2, tokens, seconds: tokens / 50, paceMs: 20 }
  })
}

/** Half of the prompts are cached: topic 1. */
function hits(count: number, random: Random): DrawnAnswer[] {
  return Array.from({ length: count }, (_, index) => {
    const tokens = Math.round(50 + 150 * random.next())
    return { topic: index % 2, tokens, seconds: tokens / 50, paceMs: 20 }
  })
}

/** 1 to 64 inputs; the topic is the power of two. */
function inputs(count: number, random: Random): DrawnAnswer[] {
  return Array.from({ length: count }, () => {
    const power = Math.floor(random.next() * 7)
    const tokens = Math.max(1, Math.round(2 ** (power - random.next())))
    return { topic: power, tokens, seconds: 0, paceMs: 1 }
  })
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  const all = [...values]
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random.next() * (last + 1))
    const [a, b] = [all[last] as T, all[other] as T]
    all[last] = b
    all[other] = a
  }
  return all
}
