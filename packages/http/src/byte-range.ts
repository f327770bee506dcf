/** A range of a buffer. Creating a view would cost more than everything else done with it. */
export type ByteRange = { readonly bytes: Buffer; readonly start: number; readonly end: number }

export const emptyRange: ByteRange = { bytes: Buffer.alloc(0), start: 0, end: 0 }

/** The bytes of a range as a separate buffer that shares its memory. */
export function viewOf({ bytes, start, end }: ByteRange): Buffer {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}

export function joinRanges(ranges: readonly ByteRange[]): ByteRange {
  const [only] = ranges
  if (ranges.length === 1 && only !== undefined) return only
  const bytes = Buffer.concat(ranges.map(viewOf))
  return { bytes, start: 0, end: bytes.length }
}
