/** The operator's token: what workers register with and what administers a gateway from a shell. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@privatemode/protocol/api'
import type { Secret } from '@privatemode/service'

/** Proof that the caller is the operator. Only a check makes one. */
export type Operator = { readonly [checked]: true }
declare const checked: unique symbol

export type CheckOperator = (token: string | undefined) => Operator

/** Hashes are compared, so that neither time nor length tells anything of the token. */
export function operatorCheck(expected: Secret): CheckOperator {
  const wanted = digest(expected.reveal())
  return (token) => {
    if (token === undefined || !timingSafeEqual(digest(token), wanted)) {
      throw new ApiError('invalid_api_key', 'this needs the operator token as a Bearer token')
    }
    return {} as Operator
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
