/** Mutates inputs of one target and keeps those that reach new code, if coverage is available. */
import {
  mutateInput,
  type Random,
  seededRandom,
} from '../../packages/attestation/src/testing/mutate-input.ts'
import { mutateJson } from './mutate-json.ts'
import { type FuzzTarget, isTyped } from './target.ts'

/** Reports which code is reached; locations are offsets in the program's text. */
export type Coverage = {
  /** Locations reached for the first time since the last call. */
  newlyReached(): number[]
  /** Locations that one run reaches, as a mask. */
  reachedBy(run: () => Promise<void>): Promise<Uint8Array>
  /** Stops watching. */
  stop(): void
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
  /** Inputs that reached new code; the corpus. */
  readonly kept: readonly Uint8Array[]
}

/** Coverage is read after this many inputs, less often if nothing new appears, because reading it is expensive. */
const batches = { first: 256, largest: 8192 }
/** Watching makes code several times slower: it stops when this many inputs in a row have reached nothing new. */
const watchedAfterFind = 50_000
const maxKept = 400

/** Throws at the first input that is neither parsed nor refused with a typed error; the message contains it. */
export async function fuzz(
  target: FuzzTarget,
  corpus: readonly Uint8Array[],
  limits: FuzzLimits,
  coverage?: Coverage,
): Promise<FuzzResult> {
  for (const good of target.seeds) await target.read(new Uint8Array(good))
  for (const known of corpus) await attempt(target, new Uint8Array(known))
  coverage?.newlyReached()
  const random = seededRandom(limits.seed)
  const pool: Uint8Array[] = [...target.seeds, ...corpus]
  const kept: Uint8Array[] = []
  let accepted = 0
  let slowestMs = 0
  let batchSize = batches.first
  let watchedUntil = watchedAfterFind
  for (let done = 0; done < limits.inputs; ) {
    const batch: Uint8Array<ArrayBuffer>[] = []
    for (; batch.length < batchSize && done < limits.inputs; done++) {
      const input = damage(target.seeds, pool, random)
      batch.push(input)
      const started = performance.now()
      const reading = attempt(target, input)
      if (reading === true || (reading !== false && (await reading))) accepted++
      const elapsedMs = performance.now() - started
      if (elapsedMs > slowestMs) slowestMs = await timeAgain(target, input, elapsedMs, limits.maxMs)
    }
    if (coverage === undefined || done > watchedUntil) continue
    const places = coverage.newlyReached()
    if (places.length > 0) watchedUntil = done + watchedAfterFind
    else if (done + batchSize > watchedUntil) coverage.stop()
    batchSize = places.length === 0 ? Math.min(2 * batchSize, batches.largest) : batches.first
    for (const input of await findNew(target, batch, places, coverage)) {
      if (kept.length >= maxKept) break
      kept.push(input)
      pool.push(input)
    }
  }
  return { name: target.name, inputs: limits.inputs, accepted, slowestMs, kept }
}

/** Half of the JSON inputs are mutated by structure, all others by bytes; half of those start from a valid input. */
function damage(
  seeds: readonly Uint8Array[],
  pool: readonly Uint8Array[],
  random: Random,
): Uint8Array<ArrayBuffer> {
  const from = random.below(2) === 0 ? seeds : pool
  if (random.below(2) === 0) {
    const changed = mutateJson(from[random.below(from.length)] ?? new Uint8Array(), random)
    if (changed !== undefined) return changed
  }
  return mutateInput(from, random)
}

/** The inputs of a batch that together reach what was new in it, found by halving. */
async function findNew(
  target: FuzzTarget,
  batch: readonly Uint8Array<ArrayBuffer>[],
  places: readonly number[],
  coverage: Coverage,
): Promise<Uint8Array[]> {
  if (places.length === 0) return []
  const mask = await coverage.reachedBy(async () => {
    for (const input of batch) await attempt(target, input)
  })
  const here = places.filter((place) => mask[place] === 1)
  if (here.length === 0) return []
  if (batch.length === 1) return [...batch]
  const middle = batch.length >> 1
  const left = await findNew(target, batch.slice(0, middle), here, coverage)
  const reached = await coverage.reachedBy(async () => {
    for (const input of left) await attempt(target, new Uint8Array(input))
  })
  const missing = here.filter((place) => reached[place] !== 1)
  return [...left, ...(await findNew(target, batch.slice(middle), missing, coverage))]
}

/** Another program may have used the CPU: a slow input must be slow a second time. */
async function timeAgain(
  target: FuzzTarget,
  input: Uint8Array<ArrayBuffer>,
  firstMs: number,
  maxMs: number,
): Promise<number> {
  const started = performance.now()
  await attempt(target, input)
  const elapsedMs = Math.min(firstMs, performance.now() - started)
  if (elapsedMs > maxMs) fail(target, input, `took ${elapsedMs.toFixed(0)} ms`)
  return elapsedMs
}

/** Whether it was parsed; avoids promises where possible, because there are millions of inputs. */
function attempt(target: FuzzTarget, input: Uint8Array<ArrayBuffer>): boolean | Promise<boolean> {
  try {
    const reading = target.read(new Uint8Array(input))
    if (!(reading instanceof Promise)) return true
    return reading.then(
      () => true,
      (error: unknown) => requireTyped(target, input, error),
    )
  } catch (error) {
    return requireTyped(target, input, error)
  }
}

function requireTyped(target: FuzzTarget, input: Uint8Array, error: unknown): false {
  if (isTyped(error)) return false
  return fail(target, input, `threw ${error instanceof Error ? error.stack : error}`)
}

function fail(target: FuzzTarget, input: Uint8Array, what: string): never {
  const text = Buffer.from(input).toString('base64')
  throw new Error(`${target.name}: ${what}\non ${input.length} bytes, base64 ${text}`)
}
