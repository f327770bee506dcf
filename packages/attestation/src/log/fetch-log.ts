/** Reads a log's files over HTTP, with a size and a time limit for each. */
import { type Bytes, concatBytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { checkpointPath } from './tile.ts'
import type { ReadLog } from './tile-tree.ts'

export type FetchLike = (url: string, init: RequestInit) => Promise<Response>

const timeoutMs = 15_000

/** `prefix` is the URL under which the log's `checkpoint` is served. */
export function fetchLog(prefix: string, fetch: FetchLike): ReadLog {
  const base = prefix.replace(/\/+$/, '')
  return async (path, maxBytes) => {
    const response = await fetch(`${base}/${path}`, {
      signal: AbortSignal.timeout(timeoutMs),
      // All files but the checkpoint are immutable. Workers at the edge refuse the mode `default`.
      ...(path === checkpointPath && { cache: 'no-cache' as const }),
    }).catch((cause: unknown) => {
      throw new AttestationError('log_unreachable', `no response from ${base}`, { cause })
    })
    if (response.status === 404) {
      await response.body?.cancel()
      return undefined
    }
    if (!response.ok) {
      await response.body?.cancel()
      throw new AttestationError('log_unreachable', `${base}/${path}: status ${response.status}`)
    }
    return readBody(response, path, maxBytes)
  }
}

async function readBody(response: Response, path: string, maxBytes: number): Promise<Bytes> {
  const pieces: Uint8Array[] = []
  let length = 0
  const reader = response.body?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > maxBytes) {
      await reader.cancel()
      throw new AttestationError('log_malformed', `${path} is over ${maxBytes} bytes`)
    }
    pieces.push(value)
  }
  return concatBytes(...pieces)
}
