/**
 * What a sealed request reveals in transit: its media type and headers, and the syntax they must
 * have.
 */
import { maxModelNameLength } from '../api/index.ts'

export const sealedMediaType = 'application/privatemode-sealed'

/** Headers of a client's sealed request; all but the candidates are sealed as well. */
export const sealedHeaders = {
  requestId: 'privatemode-request-id',
  model: 'privatemode-model',
  path: 'privatemode-path',
  /** Ids of the candidates in the client's order of preference, separated by commas. */
  workers: 'privatemode-workers',
} as const

export const requestIdShape = /^[0-9a-f]{32}$/
export const modelShape = new RegExp(`^[\\x21-\\x7e]{1,${maxModelNameLength}}$`)
/** The endpoint of the sealed request, such as `/v1/chat/completions`. */
export const endpointShape = /^\/v1\/[a-z0-9_/-]{1,64}$/
/** The same as the envelope's `maxRecipients`, which code that sees no envelope cannot import. */
export const maxCandidates = 4

const workerIdShape = /^[A-Za-z0-9_-]{1,80}$/

/** Whether a worker id is safe in a path, a header and a log line. */
export function isWorkerId(text: string): boolean {
  return workerIdShape.test(text)
}
