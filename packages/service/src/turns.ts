/**
 * Long requests take turns: between two looks at the network only one of them goes on, however many
 * there are. Callers take turns first, so the requests of one caller wait for each other.
 */

/** Those who wait, by caller; the caller that waited longest comes first. */
const waiting = new Map<string, (() => void)[]>()

/** Resolves when it is the caller's turn. */
export function giveTurn(caller: string): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(next)
    const own = waiting.get(caller)
    if (own === undefined) waiting.set(caller, [resolve])
    else own.push(resolve)
  })
}

function next(): void {
  for (const [caller, own] of waiting) {
    waiting.delete(caller)
    own.shift()?.()
    if (own.length > 0) waiting.set(caller, own)
    break
  }
  if (waiting.size > 0) setImmediate(next)
}
