/** A range of a buffer. A view of it would cost more than all else that is done with it. */
export type Span = { readonly bytes: Buffer; readonly start: number; readonly end: number }

export const emptySpan: Span = { bytes: Buffer.alloc(0), start: 0, end: 0 }

/** The bytes of a range as a buffer of their own, sharing memory. */
export function viewOf({ bytes, start, end }: Span): Buffer {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}

export function joinSpans(spans: readonly Span[]): Span {
  const [only] = spans
  if (spans.length === 1 && only !== undefined) return only
  const bytes = Buffer.concat(spans.map(viewOf))
  return { bytes, start: 0, end: bytes.length }
}
