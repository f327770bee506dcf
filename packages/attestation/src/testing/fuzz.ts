/** Feeds damaged inputs to parsers: each must be accepted or refused with a typed error, quickly. */
import { AttestationError } from '../verdict.ts'
import { mutateInput, seededRandom } from './mutate-input.ts'

export type FuzzTarget = {
  readonly name: string
  /** Valid inputs, which must be accepted unmodified. */
  readonly seeds: readonly Uint8Array[]
  readonly parse: (bytes: Uint8Array<ArrayBuffer>) => unknown
  /** The share of inputs for this target, if it is slower than others; 1 by default. */
  readonly share?: number
}

export type FuzzLimits = { readonly inputs: number; readonly seed: number; readonly maxMs: number }

export type FuzzResult = {
  readonly name: string
  readonly inputs: number
  readonly accepted: number
  readonly refused: number
  readonly slowestMs: number
}

export type FuzzReport = {
  readonly results: readonly FuzzResult[]
  readonly inputs: number
  /** The largest growth of the resident set during the run. */
  readonly grownMegabytes: number
}

/** Throws at the first input that crashes or takes too long; the message contains the input. */
export async function fuzz(
  targets: readonly FuzzTarget[],
  limits: FuzzLimits,
): Promise<FuzzReport> {
  const shares = targets.reduce((sum, { share = 1 }) => sum + share, 0)
  const memory = watchMemory()
  const results: FuzzResult[] = []
  for (const [index, target] of targets.entries()) {
    const inputs = Math.ceil((limits.inputs * (target.share ?? 1)) / shares)
    results.push(await fuzzOne(target, { ...limits, inputs, seed: limits.seed + index }, memory))
  }
  return {
    results,
    inputs: results.reduce((sum, result) => sum + result.inputs, 0),
    grownMegabytes: memory.grownMegabytes(),
  }
}

async function fuzzOne(
  target: FuzzTarget,
  { inputs, seed, maxMs }: FuzzLimits,
  memory: Memory,
): Promise<FuzzResult> {
  // A seed that is refused would turn the run into a test of one refusal.
  for (const good of target.seeds) await target.parse(new Uint8Array(good))
  const random = seededRandom(seed)
  let accepted = 0
  let slowestMs = 0
  for (let done = 0; done < inputs; done++) {
    const input = mutateInput(target.seeds, random)
    const first = await attempt(target, input)
    if (first.accepted) accepted++
    if (first.elapsedMs > slowestMs) {
      // Another program may have had the processor: slow inputs are slow a second time.
      const second = await attempt(target, input)
      const elapsedMs = Math.min(first.elapsedMs, second.elapsedMs)
      if (elapsedMs > maxMs) fail(target, input, `took ${elapsedMs.toFixed(0)} ms`)
      slowestMs = Math.max(slowestMs, elapsedMs)
    }
    if (done % 4096 === 0) memory.look()
  }
  memory.look()
  return { name: target.name, inputs, accepted, refused: inputs - accepted, slowestMs }
}

async function attempt(
  target: FuzzTarget,
  input: Uint8Array<ArrayBuffer>,
): Promise<{ accepted: boolean; elapsedMs: number }> {
  const started = performance.now()
  let accepted = false
  try {
    const pending = target.parse(input)
    if (pending instanceof Promise) await pending
    accepted = true
  } catch (error) {
    if (!(error instanceof AttestationError)) fail(target, input, `threw ${error}`)
  }
  return { accepted, elapsedMs: performance.now() - started }
}

type Memory = ReturnType<typeof watchMemory>

function watchMemory() {
  const start = process.memoryUsage.rss()
  let largest = start
  return {
    look: () => {
      largest = Math.max(largest, process.memoryUsage.rss())
    },
    grownMegabytes: () => (largest - start) / 2 ** 20,
  }
}

function fail(target: FuzzTarget, input: Uint8Array, what: string): never {
  const text = Buffer.from(input).toString('base64')
  throw new Error(`${target.name}: ${what} on ${input.length} bytes, base64 ${text}`)
}

/** For people: one line per target, then the totals. */
export function formatFuzzReport(report: FuzzReport): string {
  const lines = report.results.map(
    ({ name, inputs, accepted, slowestMs }) =>
      `${name.padEnd(22)} ${String(inputs).padStart(8)} inputs, ${String(accepted).padStart(7)} read, slowest ${slowestMs.toFixed(2)} ms`,
  )
  const slowest = Math.max(...report.results.map(({ slowestMs }) => slowestMs))
  return [
    ...lines,
    `${report.inputs} inputs, no crash; slowest ${slowest.toFixed(2)} ms; memory grew by ${report.grownMegabytes.toFixed(0)} MB at most`,
  ].join('\n')
}
