/** Steady load from clients that check every answer they get. */
import type { Chance } from '../random.ts'
import type { Ledger } from './ledger.ts'
import { makeQuestion, type QuestionKind, type QuestionShape } from './question.ts'
import { type Asking, exchange, type Reply, type Target } from './raw-exchange.ts'
import { judge, type Verdict } from './verdict.ts'

export type LoadOptions = {
  readonly target: Target
  readonly marker: string
  readonly clients: number
  readonly chance: Chance
  readonly ledger: Ledger
  readonly timeoutMs: number
  /** Longest pause of a client between two requests. */
  readonly thinkMs: number
  readonly mix?: readonly Weighted[]
  /** Headers of the next request, such as a key. */
  readonly headers?: () => Readonly<Record<string, string>>
  readonly onDone?: (done: Done) => void
}

export type Done = {
  readonly kind: string
  readonly verdict: Verdict
  readonly elapsedMs: number
  readonly firstMs: number
  readonly atMs: number
}

/** The share of each kind of request, and how it is made. */
export type Weighted = {
  readonly name: string
  readonly parts: number
  readonly kind: QuestionKind
  readonly stream: boolean
  readonly padBytes?: number
  readonly leaves?: boolean
  readonly refused?: boolean
}

export const usualMix: readonly Weighted[] = [
  { name: 'chat, streamed', parts: 40, kind: 'chat', stream: true },
  { name: 'chat, whole', parts: 15, kind: 'chat', stream: false },
  { name: 'messages, streamed', parts: 15, kind: 'messages', stream: true },
  { name: 'messages, whole', parts: 5, kind: 'messages', stream: false },
  { name: 'completions', parts: 5, kind: 'completions', stream: false },
  { name: 'embeddings', parts: 10, kind: 'embeddings', stream: false },
  { name: 'long prompt', parts: 3, kind: 'chat', stream: true, padBytes: 60_000 },
  { name: 'client leaves', parts: 5, kind: 'chat', stream: true, leaves: true },
  { name: 'refused by the model', parts: 2, kind: 'chat', stream: false, refused: true },
]

export type Tally = {
  requests: number
  right: number
  readonly errors: Record<string, number>
  readonly violations: string[]
}

export class Load {
  readonly #options: LoadOptions
  readonly #clients: Promise<void>[] = []
  /** For each client, when its last successful request was started. */
  readonly #succeededMs: number[]
  #tally = newTally()
  #stopped = false
  #count = 0

  constructor(options: LoadOptions) {
    this.#options = options
    this.#succeededMs = Array.from({ length: options.clients }, () => Number.NEGATIVE_INFINITY)
  }

  start(): void {
    for (let index = 0; index < this.#options.clients; index++) {
      this.#clients.push(this.#client(index))
    }
  }

  /** Counts since they were last taken. */
  get tally(): Readonly<Tally> {
    return this.#tally
  }

  /** What was counted since the last call. */
  takeTally(): Tally {
    const tally = this.#tally
    this.#tally = newTally()
    return tally
  }

  /** Milliseconds until every client has received a correct answer to a request started after `sinceMs`. */
  async recovered(sinceMs: number, limitMs: number): Promise<number | undefined> {
    while (performance.now() - sinceMs < limitMs) {
      if (this.#succeededMs.every((ms) => ms >= sinceMs)) return performance.now() - sinceMs
      await Bun.sleep(20)
    }
    return undefined
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
  }

  async #client(index: number): Promise<void> {
    const { chance, thinkMs } = this.#options
    await Bun.sleep(chance.between(0, thinkMs))
    while (!this.#stopped) {
      const startedMs = performance.now()
      const verdict = await this.ask()
      if (verdict.kind === 'right') this.#succeededMs[index] = startedMs
      // A client that got an error backs off.
      const pauseMs = verdict.kind === 'error' ? 250 : chance.between(0, thinkMs)
      await Bun.sleep(pauseMs)
    }
  }

  /** Makes one request and checks its answer. */
  async ask(): Promise<Verdict> {
    const { chance, marker, target, timeoutMs, ledger } = this.#options
    const chosen = this.#choose()
    const shape = shapeOf(chosen, chance)
    const id = `q${this.#count++}-${chance.between(0, 2 ** 31)}${chosen.refused ? ' refuse=400' : ''}`
    const question = makeQuestion(marker, id, shape)
    const { path, body } = question
    const leave = chosen.leaves ? { leaveAfterBytes: chance.between(1, 2000) } : {}
    const headers = this.#options.headers?.() ?? {}
    const asking: Asking = { path, body, headers, timeoutMs, ...leave }
    const startedMs = performance.now()
    const reply = await exchange(target, asking)
    const verdict = this.#judge(chosen, judge(question, reply), reply)
    const done = { kind: chosen.name, verdict, firstMs: reply.firstMs, atMs: performance.now() }
    this.#options.onDone?.({ ...done, elapsedMs: done.atMs - startedMs })
    if (verdict.kind === 'right') ledger.completed(reply, shape)
    this.#note(chosen, verdict, reply)
    return verdict
  }

  /** A client that disconnected on purpose, and one that provoked a refusal, count as successful. */
  #judge(chosen: Weighted, verdict: Verdict, reply: Reply): Verdict {
    if (verdict.kind === 'violation') return verdict
    if (chosen.leaves && reply.ending === 'left') return { kind: 'right' }
    if (chosen.refused && reply.status === 400) return { kind: 'right' }
    return chosen.refused && verdict.kind === 'right'
      ? { kind: 'violation', what: 'an answer to what the model refused' }
      : verdict
  }

  #note(chosen: Weighted, verdict: Verdict, reply: Reply): void {
    const tally = this.#tally
    tally.requests++
    switch (verdict.kind) {
      case 'right':
        tally.right++
        break
      case 'error':
        tally.errors[verdict.what] = (tally.errors[verdict.what] ?? 0) + 1
        break
      case 'violation':
        tally.violations.push(
          `${chosen.name}: ${verdict.what} (${reply.headers.get('x-request-id')})`,
        )
    }
  }

  #choose(): Weighted {
    const { chance, mix = usualMix } = this.#options
    const all = mix.reduce((sum, { parts }) => sum + parts, 0)
    let left = chance.next() * all
    for (const weighted of mix) {
      left -= weighted.parts
      if (left < 0) return weighted
    }
    return mix[0]!
  }
}

function shapeOf(chosen: Weighted, chance: Chance): QuestionShape {
  return {
    kind: chosen.kind,
    stream: chosen.stream,
    words: chance.between(5, 60),
    paceMs: chance.between(1, 8),
    padBytes: chosen.padBytes ?? 0,
  }
}

const newTally = (): Tally => ({ requests: 0, right: 0, errors: {}, violations: [] })
