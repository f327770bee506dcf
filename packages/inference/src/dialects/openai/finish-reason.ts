/** The closed set of finish reasons, from whatever a model server says. */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A call of a tool ends with `tool_calls` also where a server says stop: agents go by it. */
export function mapFinishReason(reason: unknown, hasToolCalls: boolean): FinishReason {
  switch (reason) {
    case 'length':
    case 'max_tokens':
    case 'abort': // the server gave up in the middle, as it does at a limit of its own
    case 'repetition':
      return 'length'
    case 'content_filter':
      return 'content_filter'
    case 'tool_calls':
    case 'function_call':
      return hasToolCalls ? 'tool_calls' : 'stop'
  }
  return hasToolCalls ? 'tool_calls' : 'stop'
}
