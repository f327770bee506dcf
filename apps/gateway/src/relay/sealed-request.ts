/** What the gateway can see of a sealed request: its headers, checked once. */
import { ApiError } from '@privatemode/protocol/api'
import { isWorkerId } from '../registry/registration.ts'

export const sealedContentType = 'application/privatemode-sealed'

export type SealedRequest = {
  readonly requestId: string
  readonly model: string
  /** The endpoint inside, such as `/v1/chat/completions`. */
  readonly path: string
  /** Candidates in the client's order of preference. */
  readonly workerIds: readonly string[]
  /** Length of the body, where the client declared it. */
  readonly lengthBytes: number | undefined
}

const maxCandidates = 8
const requestIdShape = /^[0-9a-f]{32}$/
const modelShape = /^[\x21-\x7e]{1,256}$/
const pathShape = /^\/v1\/[a-z0-9_/-]{1,64}$/

export function readSealedRequest(headers: Headers): SealedRequest {
  if (headers.get('content-type') !== sealedContentType) {
    throw new ApiError('unsupported_media_type', `content-type must be ${sealedContentType}`)
  }
  const length = headers.get('content-length')
  return {
    requestId: read(headers, 'privatemode-request-id', requestIdShape, '32 hex digits'),
    model: read(headers, 'privatemode-model', modelShape, 'a model id'),
    path: read(headers, 'privatemode-path', pathShape, 'the path of an endpoint'),
    workerIds: readWorkerIds(headers.get('privatemode-workers')),
    lengthBytes: length === null ? undefined : Number(length),
  }
}

function readWorkerIds(value: string | null): string[] {
  const ids = (value ?? '').split(',').map((id) => id.trim())
  const distinct = new Set(ids).size === ids.length
  if (!distinct || ids.length > maxCandidates || !ids.every(isWorkerId)) {
    throw refuse('privatemode-workers', `1 to ${maxCandidates} distinct worker ids`)
  }
  return ids
}

function read(headers: Headers, name: string, shape: RegExp, expected: string): string {
  const value = headers.get(name)
  if (value === null || !shape.test(value)) throw refuse(name, expected)
  return value
}

function refuse(param: string, expected: string): ApiError {
  return new ApiError('malformed', `header ${param} must have ${expected}`, { param })
}
