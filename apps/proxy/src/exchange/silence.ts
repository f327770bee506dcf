/** Breaks the silence of open streams, so that nothing on the way takes a long prefill for a dead connection. */

export type Watched = {
  /** Something was sent. */
  heard(): void
  end(): void
}

export type Silence = {
  watch(speak: () => void): Watched
  stop(): void
}

/** One timer for all streams: each is spoken to when nothing was sent for `limitMs`. */
export function createSilence(limitMs = 12_000, now = () => performance.now()): Silence {
  type Entry = { speak: () => void; lastMs: number }
  const open = new Set<Entry>()
  const timer = setInterval(() => {
    const dueMs = now() - limitMs
    for (const entry of open) {
      if (entry.lastMs > dueMs) continue
      entry.lastMs = now()
      entry.speak()
    }
  }, limitMs / 6).unref()
  return {
    watch(speak) {
      const entry = { speak, lastMs: now() }
      open.add(entry)
      return {
        heard() {
          entry.lastMs = now()
        },
        end: () => void open.delete(entry),
      }
    },
    stop: () => clearInterval(timer),
  }
}
