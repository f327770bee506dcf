/** `/privatemode/v1/registry/workers/{id}`: workers register, renew and deregister. */
import { ApiError } from '@privatemode/protocol/api'
import {
  isWorkerId,
  type LeavingAnswer,
  type RegistrationAnswer,
} from '@privatemode/protocol/fleet'
import { readJson } from '../http/read-json.ts'
import type { Database } from '../state/database.ts'
import { parseRegistration } from './registration.ts'
import { endLease, refuseTooMany, renewLease } from './worker-store.ts'
import type { WorkerView } from './worker-view.ts'

export type RegistryParts = {
  readonly database: Database
  readonly view: WorkerView
  readonly leaseSeconds: number
  /** Until all other gateways have certainly noticed that a worker left; 0 if there can be no other. */
  readonly lingerSeconds: number
}

const maxBodyBytes = 256 * 1024

export async function answerRegistry(
  request: Request,
  workerId: string,
  parts: RegistryParts,
): Promise<Response> {
  if (!isWorkerId(workerId)) throw new ApiError('not_found', 'no such worker')
  switch (request.method) {
    case 'PUT': {
      const worker = parseRegistration(workerId, await readJson(request, maxBodyBytes))
      if (parts.view.find(workerId) === undefined) await refuseTooMany(parts.database, workerId)
      const drain = await renewLease(parts.database, worker, parts.leaseSeconds)
      // This gateway uses a new worker immediately, the others after their next refresh.
      if (parts.view.find(workerId) === undefined) await parts.view.refresh()
      const answer: RegistrationAnswer = { lease_seconds: parts.leaseSeconds, drain }
      return Response.json(answer)
    }
    case 'DELETE': {
      await endLease(parts.database, workerId)
      await parts.view.refresh()
      const answer: LeavingAnswer = { left: true, linger_seconds: parts.lingerSeconds }
      return Response.json(answer)
    }
  }
  throw new ApiError('method_not_allowed', 'this path accepts PUT and DELETE')
}
