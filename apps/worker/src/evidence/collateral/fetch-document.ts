/** One request to a vendor's service or its mirror, with limits on time and length. */
import type { Bytes } from '@privatemode/protocol/envelope'
import type { OutboundFetch } from '@privatemode/service'
import { WorkerError } from '../../worker-error.ts'

export type VendorFetch = {
  readonly fetch: OutboundFetch
  readonly timeoutMs: number
}

export type VendorRequest = {
  readonly url: string
  readonly maxBytes: number
  /** Sent by POST, if present. */
  readonly body?: { readonly bytes: Bytes; readonly type: string; readonly accept: string }
}

export type VendorAnswer = { readonly bytes: Bytes; readonly headers: Headers }

export async function fetchDocument(
  { fetch, timeoutMs }: VendorFetch,
  { url, maxBytes, body }: VendorRequest,
): Promise<VendorAnswer> {
  const init: RequestInit = { signal: AbortSignal.timeout(timeoutMs) }
  if (body !== undefined) {
    init.method = 'POST'
    init.body = body.bytes
    init.headers = { 'content-type': body.type, accept: body.accept }
  }
  const response = await fetch(url, init)
  if (response.status !== 200) {
    await response.body?.cancel()
    throw unavailable(`${url} answered status ${response.status}`)
  }
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > maxBytes) throw unavailable(`${url} answered over ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return { bytes: new Uint8Array(Buffer.concat(pieces)), headers: response.headers }
}

/** Strips trailing slashes from a base address, so that paths can be appended. */
export const baseUrl = (url: string): string => url.replace(/\/+$/, '')

export const unavailable = (message: string, cause?: unknown) =>
  new WorkerError('collateral_unavailable', message, { cause })
