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

/**
 * Moves neighbouring ranges of one buffer together, in place: the payload of many short chunks
 * becomes one piece without a copy in new memory. Only for a buffer that no one else reads.
 */
export function mergeRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const merged: ByteRange[] = []
  for (const range of ranges) {
    const { bytes, start, end } = range
    const last = merged.at(-1)
    if (last === undefined || last.bytes !== bytes) {
      merged.push(range)
      continue
    }
    bytes.copyWithin(last.end, start, end)
    merged[merged.length - 1] = { bytes, start: last.start, end: last.end + end - start }
  }
  return merged
}
