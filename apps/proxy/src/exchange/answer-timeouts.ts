/** Aborts answers that stop making progress, or that never end. */
import { ApiError } from '@privatemode/protocol/api'

export type AnswerLimits = {
  /** Maximum time without an authenticated frame: healthy streams send them all the time. */
  readonly silentMs: number
  /** Maximum time from the first byte to the last. */
  readonly totalMs: number
}

export type AnswerTimeout = {
  /** An authenticated frame arrived. */
  progress(): void
  /** Reading is paused because the client is slow. */
  pause(): void
  end(): void
}

export type AnswerTimeouts = {
  start(giveUp: (error: ApiError) => void): AnswerTimeout
  stop(): void
}

/** One timer for all answers. */
export function createAnswerTimeouts(
  { silentMs, totalMs }: AnswerLimits,
  now = () => performance.now(),
): AnswerTimeouts {
  type Entry = {
    readonly startedMs: number
    readonly giveUp: (error: ApiError) => void
    lastMs: number
  }
  const open = new Set<Entry>()
  const look = () => {
    const nowMs = now()
    for (const entry of open) {
      const isSilent = nowMs - entry.lastMs > silentMs
      if (!isSilent && nowMs - entry.startedMs <= totalMs) continue
      open.delete(entry)
      const what = isSilent ? 'the backend stalled' : 'the answer took too long'
      entry.giveUp(new ApiError('timeout', `${what} before the answer was complete`))
    }
  }
  const timer = setInterval(look, Math.min(silentMs / 4, 5_000)).unref()
  return {
    start(giveUp) {
      const entry: Entry = { startedMs: now(), lastMs: now(), giveUp }
      open.add(entry)
      return {
        progress() {
          entry.lastMs = now()
        },
        pause() {
          entry.lastMs = Number.POSITIVE_INFINITY
        },
        end: () => void open.delete(entry),
      }
    },
    stop: () => clearInterval(timer),
  }
}
