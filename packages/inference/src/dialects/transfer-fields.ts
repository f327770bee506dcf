/** Fields with which model servers exchange caches: callers can neither send nor see them. */
import type { JsonObject } from '../engine.ts'

export const transferFields: readonly string[] = ['kv_transfer_params', 'ec_transfer_params']

/** Removes them from an answer, or a piece of one; in place, since the engine does not use it again. */
export function dropTransferFields(answer: JsonObject): JsonObject {
  for (const name of transferFields) delete answer[name]
  return answer
}
