/** Damages inputs of one target and keeps those that reach new code, where coverage is told. */
import { mutateInput, seededRandom } from '../../packages/attestation/src/testing/mutate-input.ts'
import { type FuzzTarget, isTyped } from './target.ts'

/** Tells which code is reached; places are offsets in the program's text. */
export type Coverage = {
  /** Places that were reached for the first time since this was last called. */
  newlyReached(): number[]
  /** Places that one run reaches, as a mask. */
  reachedBy(run: () => void): Uint8Array
}

export type FuzzLimits = {
  readonly inputs: number
  readonly seed: number
  /** One input may not take longer. */
  readonly maxMs: number
}

export type FuzzResult = {
  readonly name: string
  readonly inputs: number
  readonly accepted: number
  readonly slowestMs: number
  /** Inputs that reached what no input before did; the corpus. */
  readonly kept: readonly Uint8Array[]
}

const batchSize = 256
const maxKept = 400

/** Throws at the first input that is neither read nor refused with a typed error; the message has it. */
export function fuzz(
  target: FuzzTarget,
  corpus: readonly Uint8Array[],
  limits: FuzzLimits,
  coverage?: Coverage,
): FuzzResult {
  for (const good of target.seeds) target.read(new Uint8Array(good))
  for (const known of corpus) attempt(target, new Uint8Array(known))
  coverage?.newlyReached()
  const random = seededRandom(limits.seed)
  const pool: Uint8Array[] = [...target.seeds, ...corpus]
  const kept: Uint8Array[] = []
  let accepted = 0
  let slowestMs = 0
  for (let done = 0; done < limits.inputs; ) {
    const batch: Uint8Array<ArrayBuffer>[] = []
    for (; batch.length < batchSize && done < limits.inputs; done++) {
      const input = mutateInput(pool, random)
      batch.push(input)
      const started = performance.now()
      if (attempt(target, input)) accepted++
      const elapsedMs = performance.now() - started
      if (elapsedMs > slowestMs) slowestMs = timeAgain(target, input, elapsedMs, limits.maxMs)
    }
    const places = coverage?.newlyReached() ?? []
    if (coverage === undefined || places.length === 0) continue
    // Rare: which of them it was is found by running each alone.
    for (const input of findNew(target, batch, places, coverage)) {
      if (kept.length >= maxKept) break
      kept.push(input)
      pool.push(input)
    }
  }
  return { name: target.name, inputs: limits.inputs, accepted, slowestMs, kept }
}

/** The inputs of a batch that together reach what was new in it. */
function findNew(
  target: FuzzTarget,
  batch: readonly Uint8Array<ArrayBuffer>[],
  places: readonly number[],
  coverage: Coverage,
): Uint8Array[] {
  let missing = places
  const found: Uint8Array[] = []
  for (const input of batch) {
    if (missing.length === 0) break
    const mask = coverage.reachedBy(() => attempt(target, input))
    const left = missing.filter((place) => mask[place] !== 1)
    if (left.length < missing.length) found.push(input)
    missing = left
  }
  return found
}

/** Another program may have had the processor: what is slow is slow a second time. */
function timeAgain(
  target: FuzzTarget,
  input: Uint8Array<ArrayBuffer>,
  firstMs: number,
  maxMs: number,
): number {
  const started = performance.now()
  attempt(target, input)
  const elapsedMs = Math.min(firstMs, performance.now() - started)
  if (elapsedMs > maxMs) fail(target, input, `took ${elapsedMs.toFixed(0)} ms`)
  return elapsedMs
}

function attempt(target: FuzzTarget, input: Uint8Array<ArrayBuffer>): boolean {
  try {
    target.read(new Uint8Array(input))
    return true
  } catch (error) {
    if (!isTyped(error))
      fail(target, input, `threw ${error instanceof Error ? error.stack : error}`)
    return false
  }
}

function fail(target: FuzzTarget, input: Uint8Array, what: string): never {
  const text = Buffer.from(input).toString('base64')
  throw new Error(`${target.name}: ${what}\non ${input.length} bytes, base64 ${text}`)
}
