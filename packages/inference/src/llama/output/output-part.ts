/** What a model's text turns out to be, piece by piece. */

export type OutputPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'content'; readonly text: string }
  | { readonly kind: 'call'; readonly index: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly index: number; readonly text: string }

/** Reads a model's text as it arrives; every style of model has its own reader. */
export interface OutputReader {
  push(text: string): OutputPart[]
  /** Called at the end of the text: returns what was held back, unless it was truncated inside a marker. */
  end(isCut: boolean): OutputPart[]
  readonly isReasoning: boolean
  /** The number of complete function calls. */
  readonly finishedCalls: number
  /** Whether only a function call can follow now. */
  readonly isAtCall: boolean
}
