/** What a gateway says to a worker beside a sealed request, and the text that authenticates it. */
import { sealedHeaders } from './sealed-request.ts'

/**
 * Headers of a relayed request. The first three are the client's own and are sealed as well; the
 * others are the gateway's. No other header of a client reaches a worker.
 */
export const relayHeaders = {
  requestId: sealedHeaders.requestId,
  model: sealedHeaders.model,
  path: sealedHeaders.path,
  /** The gateway's opaque name of the API key. */
  keyRef: 'privatemode-key-ref',
  /** What the usage report of this request must name. */
  admission: 'privatemode-admission',
  /** Unix milliseconds by the gateway's clock. */
  sentAt: 'privatemode-sent-at',
  /** Base64url HMAC-SHA-256 of `relayText` under the worker's relay key. */
  mac: 'privatemode-relay-mac',
} as const

/** All that the MAC covers, as texts that were checked: none has a line break in it. */
export type RelayedRequest = {
  readonly workerId: string
  readonly requestId: string
  readonly model: string
  readonly path: string
  readonly keyRef: string
  readonly admission: string
  readonly sentAtMs: number
  readonly lengthBytes: number
}

/** How long after it was sent a relayed request is accepted, and how far ahead a gateway's clock may be. */
export const relayMaxAgeMs = 120_000
export const relayMaxAheadMs = 60_000

/** Bytes of the key that a worker makes and names when it registers (`relay_key`, base64). */
export const relayKeyBytes = 32

/** 64 hexadecimal digits that only the gateway can read; they name one admitted request. */
export const admissionShape = /^[0-9a-f]{64}$/

/** The text under the MAC: one value a line, so that no two requests have the same text. */
export function relayText(request: RelayedRequest): string {
  const { workerId, requestId, model, path, keyRef, admission, sentAtMs, lengthBytes } = request
  return `privatemode/v1/relay\n${workerId}\n${requestId}\n${model}\n${path}\n${keyRef}\n${admission}\n${sentAtMs}\n${lengthBytes}`
}
