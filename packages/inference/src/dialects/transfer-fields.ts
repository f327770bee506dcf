/** Where model servers exchange caches among themselves: no caller says it, and none is told. */
import type { JsonObject } from '../engine.ts'

export const transferFields: readonly string[] = ['kv_transfer_params', 'ec_transfer_params']

/** Takes them out of an answer, or a piece of one; in place, as an engine gives its answers away. */
export function dropTransferFields(answer: JsonObject): JsonObject {
  for (const name of transferFields) delete answer[name]
  return answer
}
