/** Counts the prompt of a call for which the server has not reported anything yet. */
import { type EngineCall, EngineError, type JsonObject } from '../engine.ts'
import { countMessage, countTokens, tryTokenizer } from './count-tokens.ts'
import type { ServerKind } from './http-settings.ts'
import type { ServerClient } from './server-client.ts'
import { estimatePrompt, estimateTokens } from './stream-counts.ts'

type Counted = Pick<EngineCall, 'endpoint' | 'body' | 'asChat'>

/** More texts than this are counted as one, which is off by less than one token each. */
const maxQuestions = 32

/**
 * Counts the prompt tokens of a call. For an aborted one at any price: a server that counts only
 * what it answers is asked for one token, and what no server counts is estimated. For a running one
 * only if it is exact and free, since its own counts will follow; otherwise undefined.
 */
export async function countPrompt(
  client: ServerClient,
  kind: ServerKind,
  { endpoint, body, asChat }: Counted,
  signal: AbortSignal,
  isAborted: boolean,
): Promise<number | undefined> {
  switch (endpoint) {
    case 'messages':
      return countMessage(client, body, signal)
    case 'chat':
      return countChat(client, kind, body, signal, isAborted)
    case 'responses':
      // The server's own rendering may differ slightly, so a running call waits for its own count.
      if (!isAborted) return undefined
      if (asChat === undefined) return estimatePrompt({ body, asChat })
      return countChat(client, kind, asChat, signal, isAborted)
    case 'completions':
      if (!isAborted) return undefined
      return countInputs(client, kind, body.model, body.prompt, signal)
    case 'embeddings':
      return countInputs(client, kind, body.model, body.input, signal)
  }
}

async function countChat(
  client: ServerClient,
  kind: ServerKind,
  body: JsonObject,
  signal: AbortSignal,
  isAborted: boolean,
): Promise<number | undefined> {
  // SGLang's tokenizer accepts chats in the same form; older releases refuse them.
  const form = kind === 'sglang' ? 'vllm' : kind
  const counted = await tryTokenizer(client, form, body, signal).catch(() => undefined)
  if (counted !== undefined || !isAborted) return counted
  return countTokens(client, kind, body, signal).catch((error: unknown) => {
    // A server that is full must not get more for the sake of a bill.
    if (error instanceof EngineError && error.code === 'overloaded') return estimatePrompt({ body })
    throw error
  })
}

/** The longest prompt of a completion: each must fit the context by itself. */
export async function countLongest(
  client: ServerClient,
  kind: ServerKind,
  { model, prompt }: JsonObject,
  signal: AbortSignal,
): Promise<number> {
  const isList = Array.isArray(prompt) && !prompt.every((one) => typeof one === 'number')
  const prompts: unknown[] = isList ? prompt : [prompt]
  const ids = prompts.filter(Array.isArray).map((one) => one.length)
  // A longer text has more tokens, except for differences too small to matter.
  const texts = prompts
    .filter((one) => typeof one === 'string')
    .sort((a, b) => b.length - a.length)
    .slice(0, maxQuestions)
  const counts = await Promise.all(
    texts.map((text) => countText(client, kind, model, text, signal)),
  )
  return Math.max(0, ...ids, ...counts)
}

/** Texts, token ids, or lists of these: ids need no counting. */
async function countInputs(
  client: ServerClient,
  kind: ServerKind,
  model: unknown,
  given: unknown,
  signal: AbortSignal,
): Promise<number> {
  const inputs: unknown[] = Array.isArray(given) ? given : [given]
  if (inputs.every((input) => typeof input === 'number')) return inputs.length
  const ids = inputs.reduce<number>((sum, one) => sum + (Array.isArray(one) ? one.length : 0), 0)
  const all = inputs.filter((input) => typeof input === 'string')
  const texts = all.length > maxQuestions ? [all.join('\n')] : all
  const ask = (text: string) => countText(client, kind, model, text, signal)
  const counts = await Promise.all(texts.map(ask))
  return counts.reduce((sum, count) => sum + count, ids)
}

/** Tokens of a generated text, which has no start token of its own. */
export function countOutput(
  client: ServerClient,
  kind: ServerKind,
  model: unknown,
  text: string,
  signal: AbortSignal,
): Promise<number> {
  return countText(client, kind, model, text, signal, false)
}

async function countText(
  client: ServerClient,
  kind: ServerKind,
  model: unknown,
  text: string,
  signal: AbortSignal,
  add_special_tokens = true,
): Promise<number> {
  switch (kind) {
    case 'vllm':
    case 'sglang': {
      const question = { model, prompt: text, add_special_tokens }
      const { count } = await client.require('/tokenize', question, signal)
      return typeof count === 'number' ? count : estimateTokens(text)
    }
    case 'llama-server': {
      const question = { content: text, add_special: add_special_tokens, parse_special: true }
      const { tokens } = await client.require('/tokenize', question, signal)
      return Array.isArray(tokens) ? tokens.length : estimateTokens(text)
    }
    case 'ollama':
    case 'generic':
      return estimateTokens(text)
  }
}
