/** Runs the cache canary: paired probes in random order with fresh random text, then the judgement. */
import { ApiError } from '@privatemode/protocol/api'
import type { AskProbe, Probe } from './cache-probe.ts'
import {
  type Expectation,
  type Judgement,
  judgeCaches,
  type Observation,
  type Observations,
  type ProbeKind,
} from './judge-caches.ts'

/** Options of {@link runCanary}. */
export type CanaryOptions = {
  readonly ask: AskProbe
  /** Each round sends every probe once. At least 10, or no difference in timings can be significant. */
  readonly rounds?: number
  /** Random words of a long prompt; halved until the prompt fits the model. */
  readonly words?: number
  /** What two requests without a salt are expected to do; depends on the endpoint's settings. */
  readonly noSalt?: Expectation
  /** Also compares two API keys that send no salt. */
  readonly hasOtherKey?: boolean
  readonly signal?: AbortSignal
  readonly onRound?: (done: number, of: number) => void
}

/** The verdict, with the comparisons it is based on. */
export type CanaryReport = Judgement & {
  readonly rounds: number
  readonly words: number
  readonly promptTokens: number | undefined
  /** Whether a finding based on timings alone was checked a second time, with new prompts. */
  readonly wasRepeated: boolean
}

/** The default number of rounds and of words in a long prompt. */
export const canaryDefaults = { rounds: 16, words: 200 } as const
const fewestWords = 25
const maxWaitSeconds = 30
const maxTries = 5

/** Throws an `ApiError` if the probes could not be made. */
export async function runCanary(options: CanaryOptions): Promise<CanaryReport> {
  const { rounds = canaryDefaults.rounds, noSalt = 'apart' } = options
  const words = await warmUp(options)
  const observe = async () => {
    const seen = await observeRounds(options, rounds, words)
    return { seen, judgement: judgeCaches(seen, noSalt) }
  }
  const first = await observe()
  const isGuess = first.judgement.verdict === 'shares' && first.judgement.basis === 'times'
  const again = isGuess ? await observe() : undefined
  const promptTokens = first.seen.newSalted?.[0]?.promptTokens
  const run = { rounds, words, promptTokens, wasRepeated: isGuess }
  if (again === undefined || again.judgement.verdict === 'shares') {
    return { ...(again ?? first).judgement, ...run }
  }
  const reason = 'the timings showed sharing once, but not in a second run'
  return { ...again.judgement, verdict: 'cannot-tell', basis: 'nothing', reason, ...run }
}

/** Opens connections, triggers lazy loading, and finds a prompt length that the model accepts. */
async function warmUp(options: CanaryOptions): Promise<number> {
  await send(options, { prompt: shortPrompt(), salt: randomSalt(), otherKey: false })
  for (let words = options.words ?? canaryDefaults.words; ; words = Math.floor(words / 2)) {
    try {
      await send(options, { prompt: longPrompt(words), salt: randomSalt(), otherKey: false })
      return words
    } catch (error) {
      if (!isTooLong(error) || words < 2 * fewestWords) throw error
    }
  }
}

/** Other model servers have no code for this, only a message. */
function isTooLong(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const isOurs = error.code === 'context_length_exceeded'
  return isOurs || (error.status === 400 && /context|too long/i.test(error.message))
}

async function observeRounds(
  options: CanaryOptions,
  rounds: number,
  words: number,
): Promise<Observations> {
  const seen: Partial<Record<ProbeKind, Observation[]>> = {}
  for (let round = 0; round < rounds; round++) {
    const { before, probes } = planRound(words, options.hasOtherKey ?? false)
    for (const probe of before) await send(options, probe)
    for (const [kind, probe] of probes) {
      const observations = seen[kind] ?? []
      observations.push(await send(options, probe))
      seen[kind] = observations
    }
    options.onRound?.(round + 1, rounds)
  }
  return seen
}

type RoundPlan = {
  /** Sent first, so that the probes may hit it. */
  readonly before: readonly Probe[]
  readonly probes: readonly (readonly [ProbeKind, Probe])[]
}

/** Under isolation, a probe and its control differ only in their order, which is random. */
function planRound(words: number, hasOtherKey: boolean): RoundPlan {
  const fresh = (salt: string | undefined, otherKey = false): Probe => ({
    prompt: longPrompt(words),
    salt,
    otherKey,
  })
  const [same, other, unsalted, keyed] = [
    fresh(randomSalt()),
    fresh(randomSalt()),
    fresh(undefined),
    fresh(undefined),
  ]
  const probes: [ProbeKind, Probe][] = [
    ['sameSalt', same],
    ['otherSalt', { ...other, salt: randomSalt() }],
    ['newSalted', fresh(randomSalt())],
    ['noSalt', unsalted],
    ['newUnsalted', fresh(undefined)],
    ['short', { prompt: shortPrompt(), salt: randomSalt(), otherKey: false }],
  ]
  if (hasOtherKey) {
    probes.push(['otherKey', { ...keyed, otherKey: true }], ['newOtherKey', fresh(undefined, true)])
  }
  const before = [same, other, unsalted, ...(hasOtherKey ? [keyed] : [])]
  return { before: shuffled(before), probes: shuffled(probes) }
}

/** Waits for a temporarily busy backend, for as long as it requests. */
async function send({ ask, signal }: CanaryOptions, probe: Probe): Promise<Observation> {
  const given = signal ?? new AbortController().signal
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask(probe, given)
    } catch (error) {
      given.throwIfAborted()
      const waits = error instanceof ApiError && (error.status === 429 || error.status === 503)
      if (!waits || !error.retryable || attempt >= maxTries) throw error
      const seconds = Math.min(error.retryAfterSeconds ?? 1, maxWaitSeconds)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    }
  }
}

const longPrompt = (words: number) => `${randomText(words)}\n\nReply with one word.`
const shortPrompt = () => `${randomText(1)}\n\nReply with one word.`

/** Each word has up to 32 random bits and about four tokens. */
function randomText(words: number): string {
  const numbers = crypto.getRandomValues(new Uint32Array(words))
  return Array.from(numbers, (number) => number.toString(36)).join(' ')
}

/** In hex: when probed directly, without a worker in between, model servers refuse some base64 characters. */
const randomSalt = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')

/** Fisher–Yates; the modulo bias is below one in a hundred million. */
function shuffled<T>(items: readonly T[]): T[] {
  const order = [...items]
  const random = crypto.getRandomValues(new Uint32Array(order.length))
  for (let last = order.length - 1; last > 0; last--) {
    const other = (random[last] ?? 0) % (last + 1)
    const [a, b] = [order[last], order[other]]
    if (a !== undefined && b !== undefined) [order[last], order[other]] = [b, a]
  }
  return order
}
