/** The worker's Prometheus metrics: requests, tokens and durations, never content. */
import type { CountedBy, PathIsolation } from '@privatemode/inference'
import type { UsageRecord } from '@privatemode/protocol/envelope'
import { createMetrics, durationBuckets } from '@privatemode/service'

export type WorkerMetrics = {
  /** Records the usage of one answer. */
  answered(record: UsageRecord, countedBy?: CountedBy): void
  /** A request that could not be opened, or exceeded the capacity. */
  refused(code: string): void
  /** Time until the engine produced the first part of an answer. */
  firstAnswer(seconds: number): void
  /** Registers a gauge, which is read on every scrape. */
  gauge(name: keyof typeof workerGauges, read: () => number): void
  /** How each path of the model server isolates prompt caches, read on every scrape. */
  gaugeIsolation(read: () => readonly PathIsolation[]): void
  format(): string
}

const prefix = 'privatemode_worker_'

export const workerGauges = {
  active_requests: 'requests and streams in progress',
  request_bytes: 'bytes of large requests in progress',
  engine_calls: 'engine calls in progress',
  engine_waiting: 'engine calls without output yet: queued, or processing the prompt',
  usage_waiting: 'usage records waiting to be reported',
  native_lines: 'lines printed by native code, dropped',
} as const

const isolationHelp =
  'prompt cache isolation by model and endpoint: proven, trusted, cache-off, accepted or unused'

/** `models` are the only names used as labels: a client may ask for any other. */
export function createWorkerMetrics(models: readonly string[]): WorkerMetrics {
  const metrics = createMetrics()
  const counter = (name: string, help: string) => metrics.counter(prefix + name, help)
  const seconds = (name: string, help: string) =>
    metrics.histogram(prefix + name, help, durationBuckets)
  const requests = counter('requests_total', 'requests answered, by model and outcome')
  const refusals = counter('refusals_total', 'requests refused unopened, by code')
  const tokens = counter('tokens_total', 'tokens, by model and kind; cached ones are prompt tokens')
  const counted = counter(
    'counted_total',
    'answers, by how their tokens were counted: engine, tokenizer or estimate',
  ).by('by')
  const whole = seconds('request_seconds', 'time until the end of an answer, without padding')
  const first = seconds(
    'engine_first_seconds',
    'time until the engine produced the first part of an answer',
  )
  const seriesOf = (model: string) => ({
    answers: requests.by('outcome', { model }),
    tokens: tokens.by('kind', { model }),
  })
  const byModel = new Map(models.map((model) => [model, seriesOf(model)]))
  const others = seriesOf('other')
  return {
    answered(record, countedBy) {
      const series = byModel.get(record.model) ?? others
      series.answers(record.outcome).add()
      series.tokens('prompt').add(record.prompt_tokens)
      series.tokens('cached').add(record.cached_tokens)
      series.tokens('completion').add(record.completion_tokens)
      counted(countedBy ?? 'engine').add()
      whole.observe(record.duration_ms / 1000)
    },
    refused: (code) => refusals.add(1, { code }),
    firstAnswer: (time) => first.observe(time),
    gauge: (name, read) => metrics.gaugeOf(prefix + name, workerGauges[name], read),
    gaugeIsolation: (read) =>
      metrics.gaugesOf(`${prefix}cache_isolation`, isolationHelp, () =>
        read().map(({ model, endpoint, state }) => [{ model, endpoint, state }, 1]),
      ),
    format: () => metrics.format(),
  }
}
