/**
 * Drains the padding of answers that applications already have. Closing the connection instead
 * would show an observer when an answer was complete, so it is read on, within limits.
 */
import type { UpstreamConnection } from '@privatemode/http'

export type Drain = {
  /** More padding arrived. */
  read(bytes: number): void
  /** The answer ended, or its connection broke. */
  end(): void
}

export type PaddingDrains = {
  /** Takes a connection over. Above the limits it is closed. */
  begin(connection: Pick<UpstreamConnection, 'abandon' | 'resume'>): Drain
  /** The number of connections being drained. */
  readonly open: () => number
  stop(): void
}

export type DrainLimits = {
  readonly count: number
  /** Per answer: a backend that pads forever is not read forever. */
  readonly bytes: number
  readonly ms: number
}

export const defaultDrainLimits: DrainLimits = {
  count: 4096,
  bytes: 64 * 1024 * 1024,
  ms: 900_000,
}

export function createPaddingDrains(
  limits: DrainLimits = defaultDrainLimits,
  now = () => performance.now(),
): PaddingDrains {
  type Entry = { readonly startedMs: number; readonly close: () => void }
  const open = new Set<Entry>()
  const timer = setInterval(() => {
    const dueMs = now() - limits.ms
    for (const entry of open) if (entry.startedMs < dueMs) entry.close()
  }, limits.ms / 60).unref()
  return {
    begin(connection) {
      let bytes = 0
      const end = () => void open.delete(entry)
      const close = () => {
        end()
        connection.abandon()
      }
      const entry = { startedMs: now(), close }
      open.add(entry)
      // A slow client may have paused it.
      connection.resume()
      if (open.size > limits.count) close()
      return {
        read(more) {
          bytes += more
          if (bytes > limits.bytes) close()
        },
        end,
      }
    },
    open: () => open.size,
    stop: () => clearInterval(timer),
  }
}
