/** Long requests take turns: between two looks at the network only one of them goes on, however many there are. */

const waiting: (() => void)[] = []

/** Resolves when it is the caller's turn, after everybody who asked before. */
export function giveTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(next)
  })
}

function next(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(next)
}
