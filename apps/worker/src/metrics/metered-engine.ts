/** An engine whose calls are counted: how many run, how many have given nothing yet, and for how long. */
import type {
  Chunks,
  CountedEndpoint,
  Engine,
  EngineAnswer,
  EngineCall,
  EngineModel,
  JsonObject,
  NativeEndpoint,
  PathIsolation,
} from '@privatemode/inference'
import type { WorkerMetrics } from './worker-metrics.ts'

export class MeteredEngine implements Engine {
  readonly #engine: Engine
  readonly #metrics: Pick<WorkerMetrics, 'firstAnswer'>
  #running = 0
  #waiting = 0

  constructor(engine: Engine, metrics: Pick<WorkerMetrics, 'firstAnswer' | 'gauge'>) {
    this.#engine = engine
    this.#metrics = metrics
    metrics.gauge('engine_calls', 'calls to the engine now', () => this.#running)
    // A model server does not say which of them it has queued; these are all it could have.
    const queue = 'calls to the engine that have given nothing yet: queued, or reading the prompt'
    metrics.gauge('engine_waiting', queue, () => this.#waiting)
  }

  get name(): string {
    return this.#engine.name
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

  countTokens(body: JsonObject, endpoint?: CountedEndpoint): Promise<number> {
    return this.#engine.countTokens(body, endpoint)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  async call(call: EngineCall): Promise<EngineAnswer> {
    const metered = this.#begin(call.signal)
    try {
      const answer = await this.#engine.call(call)
      if (answer.kind === 'stream')
        return { kind: 'stream', chunks: meteredChunks(answer.chunks, metered) }
      metered.first()
      metered.end()
      return answer
    } catch (error) {
      metered.end()
      throw error
    }
  }

  #begin(signal: AbortSignal): Metered {
    const started = performance.now()
    let state: 'waiting' | 'running' | 'over' = 'waiting'
    this.#running++
    this.#waiting++
    const end = () => {
      if (state === 'over') return
      if (state === 'waiting') this.#waiting--
      this.#running--
      state = 'over'
      signal.removeEventListener('abort', end)
    }
    // A stream that was begun and is then never read has no other end.
    signal.addEventListener('abort', end)
    return {
      end,
      first: () => {
        if (state !== 'waiting') return
        state = 'running'
        this.#waiting--
        this.#metrics.firstAnswer((performance.now() - started) / 1000)
      },
    }
  }
}

type Metered = { readonly first: () => void; readonly end: () => void }

function meteredChunks(chunks: Chunks, { first, end }: Metered): Chunks {
  return {
    [Symbol.asyncIterator]() {
      const inner = chunks[Symbol.asyncIterator]()
      return {
        async next() {
          try {
            const result = await inner.next()
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
