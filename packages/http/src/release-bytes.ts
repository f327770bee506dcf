/** Gives memory back at once instead of at the next collection. */

/** What is smaller is not worth the call: the collector's pace is right for it. */
const worthBytes = 2 * 1024

/**
 * Frees the memory of bytes that nobody will look at again: they are empty afterwards. Large
 * buffers that wait for the collector are pages that the next request must have made anew, which
 * costs more than encrypting what is in them. Bytes that share their memory are left alone.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < worthBytes || buffer.byteLength !== byteLength) return
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/**
 * The same for bytes that the caller knows to have their memory for themselves, of whatever length
 * it is: what a cipher gives out lies in a buffer one byte longer.
 */
export function releaseOwnBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= worthBytes && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
