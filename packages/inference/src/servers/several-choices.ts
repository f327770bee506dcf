/** Counts unstreamed answers with several choices, for which llama-server reports only one choice. */
import type { EngineCall, EngineUsage, JsonObject } from '../engine.ts'
import { countPrompt } from './count-prompt.ts'
import type { ServerKind } from './http-settings.ts'
import type { ServerClient } from './server-client.ts'

/** Whether an unstreamed answer would be counted as if it had one choice; a stream counts each. */
export function countsOneOf(kind: ServerKind, { n, prompt }: JsonObject): boolean {
  return kind === 'llama-server' && ((typeof n === 'number' && n > 1) || hasSeveral(prompt))
}

const hasSeveral = (prompt: unknown) =>
  Array.isArray(prompt) && prompt.length > 1 && !prompt.every((one) => typeof one === 'number')

/** What all choices cost, by their tokens' log probabilities; without those, a stream is requested instead. */
export async function countChoices(
  client: ServerClient,
  kind: ServerKind,
  call: EngineCall,
  answer: JsonObject,
  ofOne: EngineUsage,
  limitMs: number,
): Promise<EngineUsage> {
  if (!countsOneOf(kind, call.body)) return ofOne
  const choices: JsonObject[] = Array.isArray(answer.choices) ? answer.choices : []
  const tokens = choices.reduce((sum, { logprobs }) => sum + listed(logprobs), 0)
  const signal = AbortSignal.timeout(limitMs)
  const prompts = hasSeveral(call.body.prompt)
    ? await countPrompt(client, kind, call, signal, true).catch(() => undefined)
    : undefined
  return {
    ...ofOne,
    promptTokens: Math.max(ofOne.promptTokens, prompts ?? 0),
    completionTokens: Math.max(ofOne.completionTokens, tokens),
  }
}

function listed(logprobs: unknown): number {
  const content = (logprobs as JsonObject | null | undefined)?.content
  return Array.isArray(content) ? content.length : 0
}
