/** Errors sent between processes with their class, code and message, so that they keep their meaning. */
import { AttestationError, type AttestationErrorCode } from '@privatemode/sdk'
import { describeError, ServiceError, type ServiceErrorCode } from '@privatemode/service'

export type Failure = {
  readonly type: 'attestation' | 'service' | 'other'
  readonly code: string
  readonly message: string
}

export function toFailure(error: unknown): Failure {
  const { code, detail } = describeError(error)
  // An error without a code may quote its input; only its name is sent.
  const message = detail ?? `failed with ${code}`
  if (error instanceof AttestationError) return { type: 'attestation', code, message }
  if (error instanceof ServiceError) return { type: 'service', code, message }
  return { type: 'other', code, message }
}

export function toError({ type, code, message }: Failure): Error {
  switch (type) {
    case 'attestation':
      return new AttestationError(code as AttestationErrorCode, message)
    case 'service':
      return new ServiceError(code as ServiceErrorCode, message)
    case 'other':
      return Object.assign(new Error(message), { code })
  }
}
