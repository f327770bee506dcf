/** Counts the prompt tokens of a chat as the server itself would. */
import { EngineError, type JsonObject } from '../engine.ts'
import type { ServerKind } from './http-settings.ts'
import { countPath } from './native-endpoints.ts'
import type { ServerClient } from './server-client.ts'
import { serverBody } from './server-kinds.ts'
import { readUsage } from './stream-counts.ts'

export async function countTokens(
  client: ServerClient,
  kind: ServerKind,
  body: JsonObject,
  signal: AbortSignal,
): Promise<number> {
  const counted = await tryTokenizer(client, kind, body, signal)
  return counted ?? countByCall(client, kind, body, signal)
}

/** What a message costs according to the server; this was compared with an actual cost at startup. */
export async function countMessage(
  client: ServerClient,
  { max_tokens: _, stream: __, ...question }: JsonObject,
  signal: AbortSignal,
): Promise<number> {
  const counted = asCount((await client.require(countPath, question, signal)).input_tokens)
  if (counted !== undefined) return counted
  throw new EngineError('engine_failed', 'the model server does not count tokens')
}

/** The server's own tokenizer; undefined if it has none. */
export async function tryTokenizer(
  client: ServerClient,
  kind: ServerKind,
  body: JsonObject,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    switch (kind) {
      case 'vllm': {
        const { count } = await client.require('/tokenize', tokenizeBody(body), signal)
        return asCount(count)
      }
      case 'llama-server': {
        const { prompt } = await client.require('/apply-template', body, signal)
        const content = { content: prompt, add_special: true, parse_special: true }
        const { tokens } = await client.require('/tokenize', content, signal)
        return Array.isArray(tokens) ? tokens.length : undefined
      }
      case 'sglang':
      case 'ollama':
      case 'generic':
        return undefined
    }
  } catch (error) {
    if (error instanceof EngineError && error.code === 'unsupported_value') return undefined
    throw error
  }
}

/** vLLM's tokenizer accepts template arguments only in their own field, unlike its chat. */
function tokenizeBody(body: JsonObject): JsonObject {
  const { model, messages, tools, add_generation_prompt, continue_final_message } = body
  const effort = body.reasoning_effort
  const fromEffort =
    typeof effort === 'string'
      ? { reasoning_effort: effort, enable_thinking: effort !== 'none' }
      : undefined
  const own = body.chat_template_kwargs as JsonObject | undefined
  const chat_template_kwargs = { ...fromEffort, ...own }
  return {
    model,
    messages,
    tools,
    add_generation_prompt,
    continue_final_message,
    chat_template_kwargs,
  }
}

/**
 * Every server reports the usage of an answer, so the shortest possible one is requested. It costs a
 * prompt, so it is one of the bounded number of calls.
 */
async function countByCall(
  client: ServerClient,
  kind: ServerKind,
  body: JsonObject,
  signal: AbortSignal,
): Promise<number> {
  const shortest = { ...body, max_tokens: 1, max_completion_tokens: 1, n: 1 }
  const asked = serverBody(kind, { endpoint: 'chat', body: shortest, stream: false })
  const { usage } = await client.requireCall('/v1/chat/completions', asked, signal)
  const counted = readUsage(usage)?.promptTokens
  if (counted === undefined) {
    throw new EngineError('engine_failed', 'the model server does not count tokens')
  }
  return counted
}

function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}
