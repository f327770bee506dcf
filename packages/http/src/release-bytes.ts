/** Frees memory immediately instead of at the next garbage collection. */

/**
 * Smaller buffers are not worth the call and are left to the garbage collector. Their length is
 * read first: asking for the buffer of short bytes makes the runtime create one.
 */
const worthBytes = 1024

/**
 * Frees the memory of bytes that are no longer needed: they are empty afterwards. The next
 * request then gets memory that is still in the CPU caches. Without this, it gets memory that was
 * last used many requests ago, or pages that the kernel must provide first: either costs more than
 * encrypting the contents. Bytes that share their memory are not touched.
 */
export function releaseBytes(bytes: Uint8Array): void {
  if (bytes.byteLength < worthBytes || bytes.buffer.byteLength !== bytes.byteLength) return
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}

/**
 * Like `releaseBytes`, for bytes known by the caller to own their whole buffer, whatever its
 * length: a cipher's output uses a buffer one byte longer.
 */
export function releaseOwnBytes(bytes: Uint8Array): void {
  if (bytes.byteLength < worthBytes) return
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}

/**
 * Frees all memory behind a view, however short the view: for callers who know that nobody uses any
 * of it any more.
 */
export function releaseBehind({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= worthBytes) buffer.transfer(0)
}
