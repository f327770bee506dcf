/** Bounds concurrent password hashing: in total, per caller, and fairly between callers. */
import { ApiError } from '@privatemode/protocol/api'

/** The caller for whom a password is hashed. */
export type HashLane = {
  readonly name: string
  /** Has proof of identity: a session, a one-time link, a browser that signed in before. These go first, most of the time. */
  readonly isKnown: boolean
}

/** A slot in the queue, held until `end`. */
export type HashTurn = {
  run<T>(work: () => Promise<T>): Promise<T>
  end(): void
}

export type HashQueueLimits = {
  readonly running: number
  /** Slots that one lane can hold. */
  readonly perLane: number
  /** Slots that unknown callers can hold together, and known ones can. */
  readonly total: number
}

/** A turn for unknown callers, even while known ones wait: a few members cannot keep everybody else out. */
const strangersEvery = 4

type Waiter = { readonly lane: HashLane; readonly go: () => void }

export class HashQueue {
  readonly #limits: HashQueueLimits
  readonly #held = new Map<string, number>()
  readonly #places = { known: 0, strangers: 0 }
  readonly #waiting: { known: Waiter[]; strangers: Waiter[] } = { known: [], strangers: [] }
  /** When a lane last had its turn, as a turn count: the lane that waited longest is next. */
  readonly #lastTurn = new Map<string, number>()
  #turns = 0
  #knownInARow = 0
  #running = 0

  constructor(limits: HashQueueLimits) {
    this.#limits = limits
  }

  /** Takes a slot or throws, before any work is done for the caller. */
  enter(lane: HashLane): HashTurn {
    const kind = lane.isKnown ? 'known' : 'strangers'
    const held = this.#held.get(lane.name) ?? 0
    if (held >= this.#limits.perLane) {
      const message = 'too many concurrent sign-ins from here; try again in a moment'
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: 2 })
    }
    if (this.#places[kind] >= this.#limits.total) {
      const message = 'too many people are signing in at once; try again in a moment'
      throw new ApiError('overloaded', message, { retryAfterSeconds: 5 })
    }
    this.#held.set(lane.name, held + 1)
    this.#places[kind]++
    let ended = false
    return {
      run: (work) => this.#run(lane, work),
      end: () => {
        if (!ended) this.#leave(lane)
        ended = true
      },
    }
  }

  async #run<T>(lane: HashLane, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.running) {
      const queue = lane.isKnown ? this.#waiting.known : this.#waiting.strangers
      await new Promise<void>((go) => queue.push({ lane, go }))
    } else {
      this.#running++
    }
    this.#lastTurn.set(lane.name, ++this.#turns)
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  /** Passes the slot on, so that later callers cannot take it first. */
  #next(): void {
    const queue = this.#nextQueue()
    const turnOf = ({ lane }: Waiter) => this.#lastTurn.get(lane.name) ?? 0
    const longest = queue.reduce(
      (best, each, at) => (turnOf(each) < turnOf(queue[best] as Waiter) ? at : best),
      0,
    )
    const [waiter] = queue.splice(longest, 1)
    if (waiter === undefined) this.#running--
    else waiter.go()
  }

  #nextQueue(): Waiter[] {
    const { known, strangers } = this.#waiting
    const isTurnOfStrangers = strangers.length > 0 && this.#knownInARow >= strangersEvery - 1
    const goesToKnown = known.length > 0 && !isTurnOfStrangers
    this.#knownInARow = goesToKnown ? this.#knownInARow + 1 : 0
    return goesToKnown ? known : strangers
  }

  #leave(lane: HashLane): void {
    this.#places[lane.isKnown ? 'known' : 'strangers']--
    const held = (this.#held.get(lane.name) ?? 1) - 1
    if (held > 0) {
      this.#held.set(lane.name, held)
    } else {
      this.#held.delete(lane.name)
      this.#lastTurn.delete(lane.name)
    }
  }
}
