/**
 * Periodically probes whether the backend isolates prompt caches; reports the result but blocks
 * nothing.
 */
import { type PrivateClient, privateFetch } from '@privatemode/sdk'
import {
  type CanaryReport,
  type Comparison,
  type Expectation,
  httpProbe,
  runCanary,
} from '@privatemode/sdk/canary'
import { describeError, type Log, type Secret } from '@privatemode/service'
import type { DefaultSalt, SaltPolicy } from '../inbound/cache-salt.ts'
import type { ProxyMetrics } from '../proxy-metrics.ts'

/** The latest check of one model, in machine-readable form. */
export type CacheCheck = {
  readonly model: string
  readonly checked_at: string
  readonly verdict: CanaryReport['verdict']
  readonly basis: CanaryReport['basis']
  readonly reason: string
  readonly rounds: number
  readonly comparisons: readonly {
    readonly probe: Comparison['probe']
    readonly expected: Expectation
    readonly hits: number
    readonly of: number
    readonly median_ms: number
    readonly new_prompt_median_ms: number
    readonly p: number
  }[]
}

export type CacheWatch = {
  checks(): readonly CacheCheck[]
  stop(): void
}

export type CacheWatchParts = {
  readonly client: PrivateClient
  readonly apiKey: Secret
  readonly defaultSalt: DefaultSalt
  readonly salt: SaltPolicy
  readonly everyMs: number
  readonly log: Log
  readonly metrics: ProxyMetrics
}

/**
 * Shorter prompts than the command sends: the proxy probes as long as it runs, and every token is
 * paid for.
 */
const words = 100
const retryMs = 60_000

export function watchCaches(parts: CacheWatchParts): CacheWatch {
  const { client, log, everyMs } = parts
  const apiKey = parts.apiKey.reveal()
  const checks = new Map<string, CacheCheck>()
  const stopped = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined

  async function round(): Promise<void> {
    let pauseMs = everyMs
    try {
      const models = await client.models(apiKey)
      for (const { id, tasks } of models) if (tasks.includes('generate')) await check(id)
    } catch (error) {
      if (stopped.signal.aborted) return
      log.warn('failed to check prompt caches', describeError(error))
      pauseMs = Math.min(retryMs, everyMs)
    }
    if (!stopped.signal.aborted) timer = setTimeout(() => void round(), pauseMs).unref()
  }

  async function check(model: string): Promise<void> {
    const startedMs = performance.now()
    const fetch = privateFetch({ client, apiKey, defaultSalt: parts.defaultSalt(apiKey) })
    const report = await runCanary({
      ask: httpProbe({ url: client.endpoint, model, apiKey, fetch }),
      words,
      noSalt: parts.salt.kind === 'isolated' ? 'apart' : 'shared',
      signal: stopped.signal,
    })
    checks.set(model, formatCheck(model, report))
    parts.metrics.cacheChecked(model, report.verdict)
    const fields = {
      model,
      outcome: report.verdict,
      detail: `by ${report.basis}: ${report.reason}`,
      count: report.rounds,
      elapsedMs: Math.round(performance.now() - startedMs),
    }
    if (report.verdict === 'shares') log.error('the backend shares prompt caches', fields)
    else log.info('prompt caches checked', fields)
  }

  void round()
  return {
    checks: () => [...checks.values()],
    stop() {
      stopped.abort()
      clearTimeout(timer)
    },
  }
}

function formatCheck(model: string, report: CanaryReport): CacheCheck {
  const { verdict, basis, reason, rounds, comparisons } = report
  return {
    model,
    checked_at: new Date().toISOString(),
    verdict,
    basis,
    reason,
    rounds,
    comparisons: comparisons.map((one) => ({
      probe: one.probe,
      expected: one.expected,
      hits: one.hits,
      of: one.of,
      median_ms: Math.round(one.medianMs * 10) / 10,
      new_prompt_median_ms: Math.round(one.newPromptMedianMs * 10) / 10,
      p: one.chance,
    })),
  }
}
