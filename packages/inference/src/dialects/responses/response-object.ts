/** The response object and its output items. */
import type { JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import { newId } from '../openai/new-id.ts'
import type { Usage } from '../usage-meter.ts'
import { callItem, type ToolKind, type ToolKinds } from './response-tools.ts'
import { closeReasoning } from './sealed-reasoning.ts'

export type ResponseContext = {
  readonly body: JsonObject
  readonly model: string
  readonly kinds: ToolKinds
}

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** What is the same in all states of a response: the caller's settings, echoed. */
export function responseHead({ body, model }: ResponseContext): JsonObject {
  return {
    id: newId('resp_'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: false,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
  }
}

export function finishedResponse(
  head: JsonObject,
  output: readonly JsonObject[],
  finishReason: unknown,
  usage: Usage,
  engineUsage: unknown,
): JsonObject {
  const reason = incompleteReason(finishReason)
  return {
    ...head,
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: responseUsage(usage, engineUsage),
  }
}

export function responseUsage(usage: Usage, engineUsage: unknown): JsonObject {
  const details = isObject(engineUsage) ? engineUsage.completion_tokens_details : undefined
  const reasoning = isObject(details) ? details.reasoning_tokens : undefined
  return {
    input_tokens: usage.promptTokens,
    ...(usage.isCacheReported
      ? { input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: 0 } }
      : {}),
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: typeof reasoning === 'number' ? reasoning : 0 },
    total_tokens: usage.promptTokens + usage.completionTokens,
  }
}

function incompleteReason(finishReason: unknown): string | undefined {
  if (finishReason === 'length') return 'max_output_tokens'
  return finishReason === 'content_filter' ? 'content_filter' : undefined
}

/** The output of a complete chat message, in the order reasoning, text, calls. */
export function outputItems(message: JsonObject, context: ResponseContext): JsonObject[] {
  const items: JsonObject[] = []
  if (typeof message.reasoning === 'string' && message.reasoning !== '')
    items.push(reasoningItem(newId('rs_'), message.reasoning, context))
  if (typeof message.content === 'string' && message.content.trim() !== '')
    items.push(messageItem(newId('msg_'), message.content))
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : []
  for (const call of calls) {
    const named: JsonObject = isObject(call.function) ? call.function : {}
    const kind = kindOf(named.name, context)
    items.push(callItem(kind, call.id, named.name, argumentsText(named.arguments)))
  }
  return items
}

/** A server may name a tool that was not offered, or send something that is not a name. */
export function kindOf(name: unknown, { kinds }: ResponseContext): ToolKind {
  return (typeof name === 'string' ? kinds.get(name) : undefined) ?? 'function'
}

/** Some servers send an object instead of its JSON text. */
function argumentsText(given: unknown): string {
  return typeof given === 'string' ? given : JSON.stringify(given ?? {})
}

export function messageItem(id: string, text: string): JsonObject {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { id, type: 'message', status: 'completed', role: 'assistant', content }
}

export function reasoningItem(id: string, text: string, { body }: ResponseContext): JsonObject {
  const wanted = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  return {
    id,
    type: 'reasoning',
    summary: [],
    content: [{ type: 'reasoning_text', text }],
    ...(wanted ? { encrypted_content: closeReasoning(text) } : {}),
  }
}
