/** How long the engine takes for a token of each model: as long as padded answers are depends on it. */

/** The last answers of a model count, so that one that was slow does not. */
const remembered = 31
/** Until there are so many, nothing is said. */
const enough = 5
/** Shorter answers tell more about the prompt than about the pace. */
const leastTokens = 100

/**
 * Knows only answers that are over when it is asked: what it says about the next one cannot depend on
 * how long that will be.
 */
export class EnginePace {
  readonly #paces = new Map<string, number[]>()

  note(model: string, tokens: number, ms: number): void {
    if (tokens < leastTokens || !(ms >= 0)) return
    const known = this.#paces.get(model) ?? []
    known.push(ms / tokens)
    if (known.length > remembered) known.shift()
    this.#paces.set(model, known)
  }

  /** The median; `undefined` while too little is known. */
  msPerToken(model: string): number | undefined {
    const known = this.#paces.get(model)
    if (known === undefined || known.length < enough) return undefined
    return known.toSorted((a, b) => a - b)[known.length >> 1]
  }
}

/** What comes in fewer pieces was generated before the first of them: a whole answer, a tool call. */
const fewPieces = 16

/**
 * Passes pieces on, and tells at their end how long the engine took for them, without the time that their
 * reader took: from the first piece on, so that prompts do not count, or from the request on if they are few.
 */
export async function* timedPieces<T>(
  pieces: AsyncIterable<T> | Iterable<T>,
  startMs: number,
  ended: (ms: number) => void,
  now: () => number = () => performance.now(),
): AsyncGenerator<T> {
  let [count, firstMs, heldMs] = [0, startMs, 0]
  for await (const piece of pieces) {
    const givenMs = now()
    if (++count === 1) firstMs = givenMs
    yield piece
    heldMs += now() - givenMs
  }
  ended(now() - (count < fewPieces ? startMs : firstMs) - heldMs)
}
