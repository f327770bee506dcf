/** What a model's text turns out to be, piece by piece. */

export type OutputPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'content'; readonly text: string }
  | { readonly kind: 'call'; readonly index: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly index: number; readonly text: string }

/** Reads a model's text as it comes; every style of model has its own. */
export interface OutputReader {
  push(text: string): OutputPart[]
  /** The text is over: what was held back comes out, unless it was cut in the middle of a mark. */
  end(isCut: boolean): OutputPart[]
  readonly isReasoning: boolean
  /** Function calls that are complete. */
  readonly finishedCalls: number
  /** True at the moment when nothing but a function call can follow. */
  readonly isAtCall: boolean
}
