/**
 * Wraps an engine: measures its calls (how many run, how many have no output yet, durations), and
 * keeps one caller from occupying all of it.
 */
import {
  type Chunks,
  type CountedEndpoint,
  type Engine,
  type EngineAnswer,
  type EngineCall,
  EngineError,
  type EngineModel,
  type JsonObject,
  type NativeEndpoint,
  type PathIsolation,
} from './engine.ts'

/** Where the measurements go. */
export type EngineMetrics = {
  /** Seconds until a call's first output. */
  firstAnswer(seconds: number): void
  gauge(name: 'engine_calls' | 'engine_waiting', read: () => number): void
}

/** Limits how many calls each caller may have at once, so that there is always room for others. */
export type CallShares = {
  take(caller: string): boolean
  putBack(caller: string): void
}

export class MeteredEngine implements Engine {
  readonly #engine: Engine
  readonly #metrics: Pick<EngineMetrics, 'firstAnswer'>
  readonly #shares: CallShares | undefined
  #running = 0
  #waiting = 0

  constructor(engine: Engine, metrics: EngineMetrics, shares?: CallShares) {
    this.#engine = engine
    this.#shares = shares
    this.#metrics = metrics
    metrics.gauge('engine_calls', () => this.#running)
    // A model server does not report its queue; these are the calls that could be in it.
    metrics.gauge('engine_waiting', () => this.#waiting)
  }

  get name(): string {
    return this.#engine.name
  }

  get takesLongTexts(): boolean | undefined {
    return this.#engine.takesLongTexts
  }

  models(): readonly EngineModel[] {
    return this.#engine.models()
  }

  speaks(endpoint: NativeEndpoint, modelId: string): boolean {
    return this.#engine.speaks?.(endpoint, modelId) ?? false
  }

  isolation(): readonly PathIsolation[] {
    return this.#engine.isolation?.() ?? []
  }

  async countTokens(
    body: JsonObject,
    endpoint?: CountedEndpoint,
    by?: Pick<EngineCall, 'caller' | 'signal'>,
  ): Promise<number> {
    const share = by?.caller === undefined ? undefined : this.#takeShare(by.caller)
    try {
      return await this.#engine.countTokens(body, endpoint, by)
    } finally {
      share?.putBack()
    }
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  async call(call: EngineCall): Promise<EngineAnswer> {
    const metered = this.#begin(call)
    try {
      const answering = this.#engine.call(call)
      call.signal.addEventListener('abort', metered.aborted)
      const answer = await answering
      metered.waits(false)
      if (answer.kind === 'stream')
        return { ...answer, chunks: meteredChunks(answer.chunks, metered) }
      metered.first()
      metered.end()
      return answer
    } catch (error) {
      metered.end()
      throw error
    }
  }

  #begin({ signal, caller }: EngineCall): Metered {
    const share = caller === undefined ? undefined : this.#takeShare(caller)
    const started = performance.now()
    let state: 'waiting' | 'running' | 'over' = 'waiting'
    let isAwaited = true
    this.#running++
    this.#waiting++
    const end = () => {
      if (state === 'over') return
      if (state === 'waiting') this.#waiting--
      this.#running--
      share?.putBack()
      state = 'over'
      signal.removeEventListener('abort', aborted)
    }
    // A stream that is never read after it began ends only by its abort. Otherwise the engine is not
    // done with a call that is aborted: it may still count its prompt, which costs as much.
    const aborted = () => {
      if (!isAwaited) end()
    }
    return {
      end,
      aborted,
      waits(isWaiting) {
        isAwaited = isWaiting
        if (!isWaiting && signal.aborted) end()
      },
      first: () => {
        if (state !== 'waiting') return
        state = 'running'
        this.#waiting--
        this.#metrics.firstAnswer((performance.now() - started) / 1000)
      },
    }
  }

  #takeShare(caller: string): { readonly putBack: () => void } | undefined {
    const shares = this.#shares
    if (shares === undefined) return undefined
    if (shares.take(caller)) return { putBack: () => shares.putBack(caller) }
    const message =
      'this key has used up its share of concurrent requests; the rest is reserved for others'
    throw new EngineError('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
  }
}

type Metered = {
  readonly first: () => void
  readonly end: () => void
  readonly aborted: () => void
  /** Says whether the engine owes an answer: until it is here, an abort does not end the call. */
  readonly waits: (isWaiting: boolean) => void
}

function meteredChunks(chunks: Chunks, { first, end, waits }: Metered): Chunks {
  return {
    [Symbol.asyncIterator]() {
      const inner = chunks[Symbol.asyncIterator]()
      return {
        async next() {
          try {
            waits(true)
            const result = await inner.next()
            waits(false)
            if (result.done === true) end()
            else first()
            return result
          } catch (error) {
            end()
            throw error
          }
        },
        ready: () => inner.ready?.(),
        async return(value?: unknown) {
          end()
          return (await inner.return?.(value)) ?? { done: true, value: undefined }
        },
      }
    },
  }
}
