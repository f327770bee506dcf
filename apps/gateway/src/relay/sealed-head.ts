/** The visible part of a sealed request: its head, validated once. */
import type { RequestHead } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import {
  endpointShape,
  isWorkerId,
  maxCandidates,
  modelShape,
  requestIdShape,
  sealedHeaders,
  sealedMediaType,
} from '@privatemode/protocol/fleet'

export type SealedHead = {
  readonly requestId: string
  readonly model: string
  /** The endpoint named inside, such as `/v1/chat/completions`. */
  readonly path: string
  /** Candidates in the client's order of preference. */
  readonly workerIds: readonly string[]
  readonly lengthBytes: number
}

export function readSealedHead(head: RequestHead): SealedHead {
  if (head.method !== 'POST') {
    throw new ApiError('method_not_allowed', 'sealed requests are sent with POST')
  }
  if (head.fields.get('content-type') !== sealedMediaType) {
    throw new ApiError('unsupported_media_type', `content-type must be ${sealedMediaType}`)
  }
  if (typeof head.framing !== 'number' || head.minorVersion !== 1) {
    throw new ApiError(
      'malformed',
      'a sealed request must declare its content-length and use HTTP/1.1',
      {
        status: 411,
      },
    )
  }
  return {
    requestId: read(head, sealedHeaders.requestId, requestIdShape, '32 hex digits'),
    model: read(head, sealedHeaders.model, modelShape, 'a model id'),
    path: read(head, sealedHeaders.path, endpointShape, 'the path of an endpoint'),
    workerIds: readWorkerIds(head.fields.get(sealedHeaders.workers)),
    lengthBytes: head.framing,
  }
}

function readWorkerIds(value: string | undefined): string[] {
  if (value !== undefined && isWorkerId(value)) return [value]
  const ids = (value ?? '').split(',')
  for (const [index, id] of ids.entries()) ids[index] = id.trim()
  const good = ids.every((id, index) => isWorkerId(id) && ids.indexOf(id) === index)
  if (!good || ids.length > maxCandidates) {
    throw refuse(sealedHeaders.workers, `1 to ${maxCandidates} distinct worker ids`)
  }
  return ids
}

function read(head: RequestHead, name: string, shape: RegExp, expected: string): string {
  const value = head.fields.get(name)
  if (value === undefined || !shape.test(value)) throw refuse(name, expected)
  return value
}

function refuse(param: string, expected: string): ApiError {
  return new ApiError('malformed', `header ${param} must have ${expected}`, { param })
}
