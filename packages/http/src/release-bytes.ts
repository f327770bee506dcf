/** Frees memory immediately instead of at the next garbage collection. */

/**
 * Smaller buffers are not worth the call and are left to the garbage collector. Their length is
 * read first: asking for the buffer of short bytes makes the runtime create one.
 */
const worthBytes = 2 * 1024

/**
 * Frees the memory of bytes that are no longer needed: they are empty afterwards. Large buffers
 * waiting for the collector are pages that the kernel must provide again for the next request,
 * which costs more than encrypting their contents. Bytes that share their memory are not touched.
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
