/** Attacks on billing: clients that want more than they are billed for, or more than they are allowed. */
import type { PrivateClient } from '@privatemode/sdk'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { type System, startSystem } from '../e2e/system.ts'

export type BillTrick = { readonly name: string; readonly play: () => Promise<BillResult> }

export type BillResult = {
  /** Tokens that the model generated. */
  readonly used: number
  readonly billed: number
  readonly problems: readonly string[]
}

const tokensOfAnswer = 13
const monthLimit = 50

/**
 * The same request id in every request, each at a worker that has not seen it: as if the client waited
 * until the worker forgot. The SDK's option `random` lets it choose. `answers` are the tokens of each.
 */
async function reuseRequestId(
  answers: readonly number[],
  limit: number | undefined,
): Promise<BillResult> {
  const system = await startSystem({ engines: [engineOf(answers[0] ?? 0)] })
  try {
    const limits = limit === undefined ? {} : { tokens_per_month: limit }
    const apiKey = await system.createKey('hostile', limits)
    let used = 0
    for (const [round, tokens] of answers.entries()) {
      if (round > 0) {
        await system.addWorker(engineOf(tokens))
        await system.workers[round - 1]?.stop()
      }
      const random = (length: number) => new Uint8Array(length).fill(7)
      // A new client each time: one that knows the departed worker would try it first.
      const client = system.client({ crypto: { ...nativeCrypto, random }, candidates: 1 })
      used += await ask(client, apiKey).catch(refusedForQuota)
      // A limit counts what is settled, too; what was billed before is not to be forgotten.
      if (limit !== undefined) await billedTokens(system, used)
    }
    const billed = await billedTokens(system, used)
    const problems = billed === used ? [] : [`${billed} of ${used} tokens billed`]
    if (limit !== undefined && used > limit) problems.push(`${used} of ${limit} tokens used`)
    return { used, billed, problems }
  } finally {
    await system.stop()
  }
}

function engineOf(tokens: number): ScriptedEngine {
  const usage = { prompt_tokens: 10, completion_tokens: tokens - 10, total_tokens: tokens }
  return new ScriptedEngine({ usage })
}

function refusedForQuota(error: { readonly code?: unknown }): number {
  if (error.code === 'insufficient_quota') return 0
  throw error
}

/** More concurrent requests than a month has tokens for: each sees an unused month. */
async function askAllAtOnce(): Promise<BillResult> {
  const engine = new ScriptedEngine({ before: () => Bun.sleep(300) })
  const system = await startSystem({ engines: [engine] })
  try {
    const apiKey = await system.createKey('hostile', { tokens_per_month: monthLimit })
    const client = system.client({ retryBudgetMs: 0 })
    await client.ready(apiKey)
    const asked = await Promise.allSettled(Array.from({ length: 25 }, () => ask(client, apiKey)))
    const used = asked.reduce((sum, one) => sum + (one.status === 'fulfilled' ? one.value : 0), 0)
    const billed = await billedTokens(system, used)
    const problems = billed === used ? [] : [`${billed} of ${used} tokens billed`]
    if (used === 0) problems.push('nothing was answered')
    // An admitted request may end beyond the limit; those behind it must not start.
    if (used >= monthLimit + tokensOfAnswer) problems.push(`${used} of ${monthLimit} tokens used`)
    return { used, billed, problems }
  } finally {
    await system.stop()
  }
}

async function ask(client: PrivateClient, apiKey: string): Promise<number> {
  const text = JSON.stringify({
    model: 'org/chat-1',
    messages: [{ role: 'user', content: 'hi' }],
  })
  const answer = await client.exchange({
    path: '/v1/chat/completions',
    model: 'org/chat-1',
    body: new TextEncoder().encode(text),
    stream: false,
    apiKey,
    cacheSalt: undefined,
  })
  const body = JSON.parse(new TextDecoder().decode(await answer.whole()))
  return body.usage.total_tokens
}

/** Everything billed, after reports have had time to arrive. */
async function billedTokens(system: System, expected: number): Promise<number> {
  for (let tries = 0; ; tries++) {
    const rows = await system.usage()
    const tokens = rows.reduce((sum, row) => sum + row.prompt_tokens + row.completion_tokens, 0)
    if (tokens >= expected || tries === 100) return tokens
    await Bun.sleep(50)
  }
}

export const billTricks: readonly BillTrick[] = [
  {
    name: 'one request id for all requests, the last one short',
    play: () => reuseRequestId([400, 13], undefined),
  },
  {
    name: 'one request id for all requests on 13 tokens a month',
    play: () => reuseRequestId([13, 13], 13),
  },
  { name: '25 at once on 50 tokens a month', play: askAllAtOnce },
]
