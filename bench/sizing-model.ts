/** Predicts gateways, workers and PostgreSQL for a number of users: a simulation of one worker, and sums for the rest. */
import { seededShare } from '../packages/attestation/src/testing/seeded-bits.ts'

export type Cost = { readonly requestMs: number; readonly chunkMs: number }
export type Costs = { readonly [part in 'proxy' | 'gateway' | 'worker' | 'postgres']: Cost }

/** Assumptions that cannot be measured without GPUs and users; each can be set on the command line. */
export type Assumptions = {
  readonly requestsPerUserDay: number
  /** Requests of the busiest minutes, as a multiple of the day's mean. */
  readonly peakFactor: number
  readonly promptTokens: number
  readonly outputTokens: number
  /** One worker's engine: tokens read and written a second, over all its sequences. */
  readonly prefillTokensPerSecond: number
  readonly decodeTokensPerSecond: number
  /** The most that one sequence gets, and how many run at once. */
  readonly tokensPerSecondOfOne: number
  readonly sequences: number
  /** Nineteen of twenty requests must have their first token after this. */
  readonly firstTokenSeconds: number
  /** Share of a core that is planned to be used at the peak. */
  readonly utilisation: number
  readonly connectionsPerGateway: number
}

export const assumptions: Assumptions = {
  requestsPerUserDay: 30,
  peakFactor: 4,
  promptTokens: 1500,
  outputTokens: 400,
  prefillTokensPerSecond: 15_000,
  decodeTokensPerSecond: 2500,
  tokensPerSecondOfOne: 60,
  sequences: 128,
  firstTokenSeconds: 5,
  utilisation: 0.5,
  connectionsPerGateway: 8,
}

export type Prediction = {
  readonly users: number
  readonly peakPerSecond: number
  readonly workers: number
  readonly workerPerSecond: number
  readonly gatewayCores: number
  readonly gateways: number
  readonly postgresCores: number
  readonly postgresConnections: number
  readonly usageGibPerMonth: number
}

/** Two gateways at least, so that one may fail; one core each, since a gateway is one process. */
export function predict(
  users: number,
  costs: Costs,
  bytesPerUsageRow: number,
  given: Assumptions = assumptions,
): Prediction {
  const perDay = users * given.requestsPerUserDay
  const peakPerSecond = (perDay / 86_400) * given.peakFactor
  const workerPerSecond = sustainableRate(given)
  const coresFor = (cost: Cost) =>
    (peakPerSecond * (cost.requestMs + cost.chunkMs * given.outputTokens)) /
    1000 /
    given.utilisation
  const gatewayCores = coresFor(costs.gateway)
  const gateways = Math.max(2, Math.ceil(gatewayCores) + 1)
  return {
    users,
    peakPerSecond,
    workers: Math.max(2, Math.ceil(peakPerSecond / workerPerSecond) + 1),
    workerPerSecond,
    gatewayCores,
    gateways,
    postgresCores: coresFor(costs.postgres),
    postgresConnections: gateways * given.connectionsPerGateway,
    usageGibPerMonth: (perDay * 30 * bytesPerUsageRow) / 2 ** 30,
  }
}

/** The highest rate at which a simulated worker meets its first-token target. */
export function sustainableRate(given: Assumptions): number {
  let low = 0
  // Close to what the engine can do at most, a queue of a few minutes says nothing about one of a day.
  let high =
    0.9 *
    Math.min(
      given.decodeTokensPerSecond / given.outputTokens,
      given.prefillTokensPerSecond / given.promptTokens,
    )
  for (let round = 0; round < 14; round++) {
    const rate = (low + high) / 2
    if (firstTokenP95(rate, given) <= given.firstTokenSeconds) low = rate
    else high = rate
  }
  return low
}

const simulated = 3000
const stepSeconds = 0.05

/** Arrivals are Poisson, lengths exponential; sequences share the engine, and prompts are read one after another. */
export function firstTokenP95(rate: number, given: Assumptions): number {
  const random = seededShare(42) // so that a prediction can be repeated
  const exponential = (mean: number) => -Math.log(1 - random()) * mean
  const waits: number[] = []
  const queue: { readonly at: number; prompt: number; readonly output: number }[] = []
  let running: number[] = []
  let next = exponential(1 / rate)
  for (let now = 0; waits.length < simulated; now += stepSeconds) {
    for (; next <= now; next += exponential(1 / rate)) {
      const output = exponential(given.outputTokens)
      queue.push({ at: next, prompt: exponential(given.promptTokens), output })
    }
    if (queue.length > 20 * given.sequences) return Number.POSITIVE_INFINITY
    let budget = given.prefillTokensPerSecond * stepSeconds
    while (budget > 0 && queue[0] !== undefined && running.length < given.sequences) {
      const head = queue[0]
      const read = Math.min(budget, head.prompt)
      head.prompt -= read
      budget -= read
      if (head.prompt > 0) break
      queue.shift()
      waits.push(now - head.at)
      running.push(head.output)
    }
    const share = Math.min(given.tokensPerSecondOfOne, given.decodeTokensPerSecond / running.length)
    running = running.map((left) => left - share * stepSeconds).filter((left) => left > 0)
  }
  return waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.95)] ?? Number.POSITIVE_INFINITY
}
