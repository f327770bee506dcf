/**
 * Bounds concurrent work: a few tasks run, a few wait in a queue, and any further ones are refused.
 */
import { WorkerError, type WorkerErrorCode } from '../worker-error.ts'

export type TurnLimits = {
  readonly what: string
  /** Error code used when the time is up. */
  readonly code: WorkerErrorCode
  readonly atOnce: number
  readonly waiting: number
  /** How long a caller waits for its result, including time in the queue. */
  readonly timeoutMs: number
}

export class Turns {
  readonly #limits: TurnLimits
  readonly #queue = new Set<() => void>()
  #running = 0

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /**
   * Runs `work` when a slot is free. A caller whose time is up stops waiting, but work that began
   * keeps its slot until it ends, so hanging work cannot pile up.
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    const { what, code, atOnce, waiting, timeoutMs } = this.#limits
    return new Promise<T>((resolve, reject) => {
      const begin = () => {
        this.#running += 1
        work()
          .then(resolve, reject)
          .finally(() => {
            clearTimeout(timer)
            this.#end()
          })
      }
      if (this.#running < atOnce) begin()
      else if (this.#queue.size < waiting) this.#queue.add(begin)
      else {
        const message = `${waiting} requests are already waiting for ${what}`
        reject(new WorkerError('evidence_overloaded', message))
        return
      }
      const timer = setTimeout(() => {
        this.#queue.delete(begin)
        reject(new WorkerError(code, `${what} took over ${timeoutMs} ms`))
      }, timeoutMs)
    })
  }

  #end(): void {
    this.#running -= 1
    const [next] = this.#queue
    if (next === undefined) return
    this.#queue.delete(next)
    next()
  }
}
