/** Bounds how long an answer may take, and how long it may make no progress. */
import { ApiError } from '@privatemode/protocol/api'
import type { Timeouts } from './options.ts'

export class AnswerTimeout {
  readonly #timeouts: Timeouts
  readonly #startedMs = performance.now()
  /**
   * Time spent waiting since the last progress; a reader's own pauses are not counted against the
   * backend.
   */
  #silentMs = 0
  #openedBytes = 0

  constructor(timeouts: Timeouts) {
    this.#timeouts = timeouts
  }

  /** Reports how many bytes are authentic so far: raw bytes alone are no progress. */
  reportOpened(openedBytes: number): void {
    if (openedBytes > this.#openedBytes) this.#silentMs = 0
    this.#openedBytes = openedBytes
  }

  /** Waits for the next bytes, no longer than the limits allow. */
  async next<T>(coming: Promise<T>): Promise<T> {
    const { silenceMs, totalMs } = this.#timeouts
    const nowMs = performance.now()
    const leftMs = Math.min(silenceMs - this.#silentMs, this.#startedMs + totalMs - nowMs)
    try {
      return await within(coming, leftMs)
    } finally {
      this.#silentMs += performance.now() - nowMs
    }
  }
}

export function within<T>(coming: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new ApiError('timeout', 'the backend did not answer in time'))
    const timer = setTimeout(giveUp, ms)
    coming.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
