/** What is known of a request that was relayed, when its answer has ended. */
import type { OpenSpan } from '@privatemode/service'
import type { Caller } from '../keys/key-check.ts'
import type { LiveWorker } from '../registry/worker-store.ts'
import type { StreamEnd } from './attempt.ts'
import type { SealedRequest } from './sealed-request.ts'

export type Relayed = {
  readonly sealed: SealedRequest
  readonly caller: Caller
  readonly admissionId: string
  readonly worker: LiveWorker
  readonly span: OpenSpan | undefined
  readonly outcome: StreamEnd
  readonly bytesOut: number
  readonly attempts: number
  readonly firstByteMs: number
  readonly elapsedMs: number
}
