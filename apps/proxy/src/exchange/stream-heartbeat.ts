/** Keeps quiet streams alive, so that no intermediary mistakes a long prefill for a dead connection. */

export type Heartbeat = {
  /** Something was sent. */
  sent(): void
  end(): void
}

export type Heartbeats = {
  start(beat: () => void): Heartbeat
  stop(): void
}

/** One timer for all streams: `beat` is called when nothing was sent for `limitMs`. */
export function createHeartbeats(limitMs = 12_000, now = () => performance.now()): Heartbeats {
  type Entry = { beat: () => void; lastMs: number }
  const open = new Set<Entry>()
  const timer = setInterval(() => {
    const dueMs = now() - limitMs
    for (const entry of open) {
      if (entry.lastMs > dueMs) continue
      entry.lastMs = now()
      entry.beat()
    }
  }, limitMs / 6).unref()
  return {
    start(beat) {
      const entry = { beat, lastMs: now() }
      open.add(entry)
      return {
        sent() {
          entry.lastMs = now()
        },
        end: () => void open.delete(entry),
      }
    },
    stop: () => clearInterval(timer),
  }
}
