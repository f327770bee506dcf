/** Plays a trace of the session model against the real code, and reports where the two disagree. */
import {
  type AnswerOpener,
  type Bytes,
  dataRecord,
  EnvelopeError,
  encodeText,
  endRecord,
  equalBytes,
  headRecord,
  joinBytes,
  type OpenedRequest,
  openRequest,
  ReplayGuard,
  type Session,
} from '@privatemode/protocol/envelope'
import { answerMagic } from '../../packages/protocol/src/envelope/open-answer.ts'
import { formatContext, parsePrelude } from '../../packages/protocol/src/envelope/prelude.ts'
import {
  findSecretOf,
  seal,
  sessionsWith,
  type TestWorker,
  testWorker,
} from '../protocol/exchange.ts'
import { attestAs } from './attest-as.ts'
import { providerThatRefusesReuse } from './nonce-reuse.ts'
import type { Step } from './traces.ts'

/** `step` is the first one where the code decides differently from the model. */
export type Replay =
  | { readonly kind: 'agrees' }
  | { readonly kind: 'code refuses' | 'code accepts'; readonly step: number }

type Sent = {
  readonly bytes: Bytes
  readonly frames: readonly Bytes[]
  readonly opener: AnswerOpener
}
type Answered = { readonly salt: Bytes; readonly frames: readonly Bytes[] }
type Serving = { readonly worker: number; readonly prelude: Bytes; readonly frames: Bytes[] }

const paths = ['/v1/completions', '/v1/chat/completions'] as const
const idOf = (id: number) => new Uint8Array(16).fill(id + 1)
/** Three frames, as the model has them: first, middle, last. */
const body = new Uint8Array(600 * 1024).fill(0x20)
const now = 1_800_000_000_000

/** Throws if two plaintexts would be sealed under one key and nonce. */
export async function replaySession(steps: readonly Step[]): Promise<Replay> {
  const world = new World(await Promise.all([1, 2, 3, 4].map(testWorker)))
  for (const [index, step] of steps.entries()) {
    const isRefused = await world.play(step)
    const modelRefuses = step[0] === 'attest' ? step[3] === 0 : steps[index + 1]?.[0] === 'refuse'
    if (isRefused === undefined || isRefused === modelRefuses) continue
    return { kind: isRefused ? 'code refuses' : 'code accepts', step: index }
  }
  return { kind: 'agrees' }
}

/** The client, the workers, and all that the attacker has seen of them. */
class World {
  readonly #workers: readonly TestWorker[]
  readonly #guards = [0, 1].map(() => new ReplayGuard(undefined, () => now))
  readonly #provider = providerThatRefusesReuse()
  #sessions: Session[] | undefined
  readonly #sent: Sent[] = []
  readonly #answers: Answered[] = []
  #serving: Serving | undefined
  #receiving: AnswerOpener | undefined

  constructor(workers: readonly TestWorker[]) {
    this.#workers = workers
  }

  /** Whether the code refuses what this step offers; `undefined` if there is nothing to decide. */
  async play([what, ...numbers]: Step): Promise<boolean | undefined> {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = numbers
    switch (what) {
      case 'attest':
        return !(await attestAs(a, b))
      case 'send':
        return this.#send(a, b)
      case 'serve':
        return this.#serve(a, b, c, d, e, f)
      case 'receive':
        return this.#receive(a, b, c)
      case 'frame':
        return this.#deliver(this.#frame(a, b, c, d === 1))
      case 'cut':
        return this.#cut()
      case 'answer':
        return this.#answer()
    }
    return undefined // "refuse" and "whole" are the model's word on the step before
  }

  async #send(request: number, mask: number): Promise<undefined> {
    // One session with each worker for all requests, as a client has.
    this.#sessions ??= await sessionsWith(this.#workers)
    const candidates = this.#sessions.filter((_, key) => (mask >> key) & 1)
    const context = { requestId: idOf(request), path: paths[1], issuedAtMs: now }
    const { bytes, opener } = await seal(this.#provider, candidates, body, context)
    const frames = splitFrames(bytes.subarray(parsePrelude(bytes)?.length))
    if (frames.length !== 3) throw new Error(`a request has ${frames.length} frames, not three`)
    this.#sent[request] = { bytes, opener, frames }
  }

  /** The prelude of a request, changed as the attacker likes, comes before a worker. */
  async #serve(
    worker: number,
    request: number,
    id: number,
    path: number,
    claimed: number,
    wraps: number,
  ): Promise<boolean> {
    const honest = parsePrelude(required(this.#sent[request]).bytes)
    const { context, recipients } = required(honest)
    const chosen = this.#workers.flatMap(({ keys }, key) => {
      if (((claimed >> key) & 1) === 0) return []
      const known = recipients.find(({ sealKeyId }) => equalBytes(sealKeyId, keys.id))
      const made = { sealKeyId: keys.id, encapsulation: new Uint8Array(1120).fill(1) }
      const { wrappedKey, ...shown } = known ?? { ...made, wrappedKey: new Uint8Array(48) }
      const isChanged = wraps === 3 && key !== worker
      return [{ ...shown, wrappedKey: isChanged ? flipped(wrappedKey, 0) : wrappedKey }]
    })
    const prelude = joinBytes([
      formatContext({ ...context, requestId: idOf(id), path: paths[path === 1 ? 1 : 0] }),
      Uint8Array.of(chosen.length),
      ...chosen.flatMap(({ sealKeyId, encapsulation }) => [sealKeyId, encapsulation]),
      ...chosen.map(({ wrappedKey }) => wrappedKey),
    ])
    this.#serving = { worker, prelude, frames: [] }
    this.#receiving = undefined
    return (await this.#open(true)) === 'refused'
  }

  /** What the worker makes of what it has got: a request that is only not whole yet is not refused. */
  async #open(isNew: boolean): Promise<OpenedRequest | 'refused' | 'not whole'> {
    const { worker, prelude, frames } = required(this.#serving)
    const guard = required(this.#guards[worker])
    const find = findSecretOf(required(this.#workers[worker]))
    const accept: Parameters<typeof openRequest>[2] = (context) => {
      if (isNew) guard.accept(context)
    }
    try {
      return await openRequest(this.#provider, find, accept, joinBytes([prelude, ...frames]))
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error
      return error.code === 'truncated' ? 'not whole' : 'refused'
    }
  }

  async #receive(request: number, worker: number, salt: number): Promise<undefined> {
    const drawn = this.#answers[salt - 1]?.salt ?? new Uint8Array(32)
    this.#receiving = required(this.#sent[request]).opener
    const { keys } = required(this.#workers[worker])
    await this.#receiving.push(joinBytes([answerMagic, keys.id, drawn]))
  }

  #frame(from: number, index: number, number: number, last: boolean): Bytes {
    const made = joinBytes([Uint8Array.of(0, 0, 0, 32, 0), new Uint8Array(32)])
    const seen = [this.#sent[index]?.frames, this.#answers[index]?.frames, [made, made, made]]
    const frame = required(seen[from]?.[number]).slice()
    frame[4] = last ? 1 : 0
    return frame
  }

  async #deliver(frame: Bytes): Promise<boolean> {
    if (this.#receiving !== undefined) return isRefused(() => this.#receiving?.push(frame))
    this.#serving?.frames.push(frame)
    return (await this.#open(false)) === 'refused'
  }

  async #cut(): Promise<boolean> {
    if (this.#receiving !== undefined) return isRefused(() => this.#receiving?.finish())
    const opened = await this.#open(false)
    return typeof opened === 'string'
  }

  async #answer(): Promise<boolean> {
    const opened = await this.#open(false)
    if (typeof opened === 'string') return true
    const sealer = await opened.sealAnswer()
    const frames = [
      await sealer.seal(headRecord({ status: 200, headers: {} }), false),
      await sealer.seal(dataRecord(encodeText('middle')), false),
      await sealer.seal(endRecord(encodeText('{}')), true),
    ]
    this.#answers.push({ salt: sealer.prelude.subarray(20), frames })
    return false
  }
}

async function isRefused(work: () => unknown): Promise<boolean> {
  try {
    await work()
    return false
  } catch (error) {
    if (error instanceof EnvelopeError) return true
    throw error
  }
}

function splitFrames(bytes: Bytes): Bytes[] {
  const frames: Bytes[] = []
  for (let at = 0; at < bytes.length; at += frames.at(-1)?.length ?? 0) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0)
    frames.push(bytes.slice(at, at + 5 + length))
  }
  return frames
}

function flipped(bytes: Bytes, position: number): Bytes {
  const copy = bytes.slice()
  copy[position] = (copy[position] ?? 0) ^ 1
  return copy
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new RangeError('the trace names what is not there')
  return value
}
