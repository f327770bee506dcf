/** Request ids: 128 random bits as 32 hex digits, pooled so that one costs well under a microsecond. */
const idBytes = 16
const pool = Buffer.alloc(idBytes * 256)
let used = pool.length

export function newRequestId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += idBytes
  return pool.toString('hex', used - idBytes, used)
}

/** The two headers in which clients of both dialects expect the id. */
export function requestIdHeaders(requestId: string): Record<'x-request-id' | 'request-id', string> {
  return { 'x-request-id': requestId, 'request-id': requestId }
}
