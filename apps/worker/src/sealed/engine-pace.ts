/** Measures how long the engine takes per token of each model, which determines how far answers are padded. */

/** The number of recent answers per model that count, so that a single slow one does not matter. */
const remembered = 31
/** Below this number of answers, no pace is reported. */
const enough = 5
/** Shorter answers say more about the prompt than about the pace. */
const leastTokens = 100

/**
 * Knows only answers that have already ended: the pace used for the next answer cannot depend on
 * that answer's length.
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
    return Float64Array.from(known).sort()[known.length >> 1]
  }
}

/** An answer in fewer pieces was generated before the first of them: a whole answer, a tool call. */
const fewPieces = 16

/**
 * Forwards pieces once they are `seen`, and at their end reports how long the engine took for them,
 * excluding the time taken by their reader: measured from the first piece, so that prompts do not
 * count, or from the request if there are few pieces.
 */
export async function* timedPieces<T>(
  pieces: AsyncIterable<T> | Iterable<T>,
  startMs: number,
  seen: (piece: T) => void,
  ended: (ms: number) => void,
  now: () => number = () => performance.now(),
): AsyncGenerator<T> {
  let [count, firstMs, heldMs] = [0, startMs, 0]
  for await (const piece of pieces) {
    const givenMs = now()
    if (++count === 1) firstMs = givenMs
    seen(piece)
    yield piece
    heldMs += now() - givenMs
  }
  ended(now() - (count < fewPieces ? startMs : firstMs) - heldMs)
}
