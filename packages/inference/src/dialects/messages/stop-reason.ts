/** Stop reasons in the messages dialect. */
import type { JsonObject } from '../../engine.ts'

export function stopReason(
  choice: JsonObject,
  fitted: boolean,
  stopSequences: readonly unknown[],
): { stop_reason: string; stop_sequence: string | null } {
  const matched = choice.stop_reason
  switch (choice.finish_reason) {
    case 'length':
      return {
        stop_reason: fitted ? 'model_context_window_exceeded' : 'max_tokens',
        stop_sequence: null,
      }
    case 'tool_calls':
      return { stop_reason: 'tool_use', stop_sequence: null }
    case 'content_filter':
      return { stop_reason: 'refusal', stop_sequence: null }
  }
  // Engines name the matched stop string; for the end of turn they send nothing, or a token id.
  if (typeof matched === 'string' && stopSequences.includes(matched))
    return { stop_reason: 'stop_sequence', stop_sequence: matched }
  return { stop_reason: 'end_turn', stop_sequence: null }
}
