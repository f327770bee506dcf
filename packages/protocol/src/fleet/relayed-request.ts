/**
 * What a gateway sends to a worker along with a sealed request, and the text that authenticates it.
 */
import { sealedHeaders } from './sealed-request.ts'

/**
 * Headers of a relayed request. The first three come from the client and are sealed as well; the
 * others come from the gateway. No other client header reaches a worker.
 */
export const relayHeaders = {
  requestId: sealedHeaders.requestId,
  model: sealedHeaders.model,
  path: sealedHeaders.path,
  /** The gateway's opaque reference to the API key. */
  keyRef: 'privatemode-key-ref',
  /** The usage report of this request must repeat this value. */
  admission: 'privatemode-admission',
  /** Unix milliseconds on the gateway's clock. */
  sentAt: 'privatemode-sent-at',
  /** Base64url HMAC-SHA-256 of `relayText` under the worker's relay key. */
  mac: 'privatemode-relay-mac',
} as const

/** Everything the MAC covers, as validated texts: none contains a line break. */
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

/**
 * How long after sending a relayed request is accepted, and how far ahead the gateway's clock may
 * be.
 */
export const relayMaxAgeMs = 120_000
export const relayMaxAheadMs = 60_000

/** Length of the key that a worker generates and sends when it registers (`relay_key`, base64). */
export const relayKeyBytes = 32

/**
 * 64 hexadecimal digits that only the gateway can interpret; they identify one admitted request.
 */
export const admissionShape = /^[0-9a-f]{64}$/

/** The text under the MAC: one value per line, so no two requests have the same text. */
export function relayText(request: RelayedRequest): string {
  const { workerId, requestId, model, path, keyRef, admission, sentAtMs, lengthBytes } = request
  return `privatemode/v1/relay\n${workerId}\n${requestId}\n${model}\n${path}\n${keyRef}\n${admission}\n${sentAtMs}\n${lengthBytes}`
}
