/** Counts the work of a stream that was aborted before the server had counted it. */
import type { EngineCall } from '../engine.ts'
import { countOutput, countPrompt } from './count-prompt.ts'
import type { ServerKind } from './http-settings.ts'
import type { ServerClient } from './server-client.ts'
import { estimatePrompt, estimateTokens, type OpenCounts } from './stream-counts.ts'

/** Never rejects: what the server does not count in time is estimated. */
export async function settleCounts(
  client: ServerClient,
  kind: ServerKind,
  call: EngineCall,
  open: OpenCounts,
  limitMs: number,
): Promise<void> {
  const signal = AbortSignal.timeout(limitMs)
  const orNothing = (counting: Promise<number | undefined>) => counting.catch(() => undefined)
  const [prompt, output] = await Promise.all([
    open.promptTokens ?? orNothing(countPrompt(client, kind, call, signal, true)),
    open.text === '' ? 0 : orNothing(countOutput(client, kind, call.body.model, open.text, signal)),
  ])
  const isCounted = prompt !== undefined && output !== undefined
  call.onUsage?.({
    promptTokens: prompt ?? estimatePrompt(call),
    cachedTokens: open.cachedTokens,
    // Each piece was at least one token, whatever tokenizing their joined text yields.
    completionTokens: Math.max(open.pieces, output ?? estimateTokens(open.text)),
    countedBy: isCounted ? 'tokenizer' : 'estimate',
  })
}
