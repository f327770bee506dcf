/** Fields that a server has under a name of its own. */
import type { JsonObject } from '../engine.ts'

/** Renames SGLang's field for the matched stop string, in every choice of an answer or a chunk. */
export function renameFields(answer: JsonObject): JsonObject {
  if (!Array.isArray(answer.choices)) return answer
  for (const choice of answer.choices as JsonObject[]) if (choice !== null) renameStop(choice)
  return answer
}

export function renameStop(choice: JsonObject): JsonObject {
  if (choice.matched_stop === undefined) return choice
  choice.stop_reason ??= choice.matched_stop
  delete choice.matched_stop
  return choice
}
