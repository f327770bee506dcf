/** Embeds texts one at a time: a context computes one pooled vector at a time. */
import type { LlamaEmbeddingContext } from 'node-llama-cpp'
import { EngineError } from '../../engine.ts'
import { type NativeContext, nativeContextOf } from './native-binding.ts'
import type { ThreadShare } from './thread-share.ts'

export class Embedder {
  readonly #context: LlamaEmbeddingContext
  readonly #native: NativeContext
  readonly #threads: ThreadShare
  readonly #maxWaiting: number
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #isClosed = false

  constructor(context: LlamaEmbeddingContext, threads: ThreadShare, maxWaiting: number) {
    this.#context = context
    this.#native = nativeContextOf(context)
    this.#threads = threads
    this.#maxWaiting = maxWaiting
  }

  /** Normalised vectors, in the order of the inputs. `onDone` is called after each. */
  async embed(
    inputs: readonly (readonly number[])[],
    signal: AbortSignal,
    onDone: (tokens: number) => void,
  ): Promise<Float32Array[]> {
    if (this.#isClosed) throw new EngineError('engine_unavailable', 'the engine is shutting down')
    if (this.#waiting >= this.#maxWaiting)
      throw new EngineError('overloaded', 'too many requests are waiting for this model', {
        retryAfterSeconds: 2,
      })
    const vectors: Float32Array[] = []
    this.#waiting++
    try {
      for (const tokens of inputs) {
        vectors.push(await this.#inTurn(() => this.#compute(tokens), signal))
        onDone(tokens.length)
      }
    } finally {
      this.#waiting--
    }
    return vectors
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#last
    await this.#context.dispose()
  }

  /** Callers take turns text by text, so that a long list does not delay others. */
  #inTurn<T>(compute: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = this.#last.then(() => {
      if (signal.aborted) throw new EngineError('aborted', 'the request was aborted')
      if (this.#isClosed) throw new EngineError('engine_unavailable', 'the engine is shutting down')
      return compute()
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  async #compute(tokens: readonly number[]): Promise<Float32Array> {
    const native = this.#native
    try {
      native.disposeSequence(0)
      native.initBatch(tokens.length)
      native.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.of(tokens.length - 1))
      await this.#threads.use((count) => {
        native.setThreads(count)
        return native.decodeBatch()
      })
      return normalised(native.getEmbedding(tokens.length))
    } catch (cause) {
      throw new EngineError('engine_failed', 'the text could not be embedded', { cause })
    }
  }
}

/** Scales to length one; a zero vector stays unchanged. */
export function normalised(vector: ArrayLike<number>): Float32Array {
  let sum = 0
  for (let at = 0; at < vector.length; at++) sum += (vector[at] ?? 0) ** 2
  const scale = sum === 0 ? 1 : 1 / Math.sqrt(sum)
  return Float32Array.from(vector, (value) => value * scale)
}
