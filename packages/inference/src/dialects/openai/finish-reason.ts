/** Maps a model server's finish reason to the closed set. */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A tool call ends with `tool_calls` even if a server says stop: agents rely on it. */
export function mapFinishReason(reason: unknown, hasToolCalls: boolean): FinishReason {
  switch (reason) {
    case 'length':
    case 'max_tokens':
    case 'abort': // the server stopped early, as it does at a limit of its own
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
