/** Runs many generations on one context: continuous batching, a bounded queue, abort at every step. */
import { EngineError } from '../../engine.ts'
import { type BatchLimits, planBatch } from './batch-plan.ts'
import type { GenerationEnd, GenerationTask } from './generation-task.ts'
import { RunningSequence, type SchedulerParts } from './running-sequence.ts'
import type { Slot } from './sequence-slots.ts'

export type SchedulerLimits = BatchLimits & {
  /** How many tasks may wait for a sequence; one more is refused. */
  readonly maxWaiting: number
}

type Job = {
  readonly task: GenerationTask
  /** The call this task belongs to: the queue counts calls. */
  readonly call: object
  /** The job whose prompt this one shares: it waits until that is evaluated, then copies it. */
  readonly leader: Job | undefined
  slot: Slot | undefined
  sequence: RunningSequence | undefined
  isDone: boolean
  readonly settle: (result: GenerationEnd | EngineError) => void
}

const retryAfterSeconds = 2

export class SequenceScheduler {
  readonly #parts: SchedulerParts
  readonly #limits: SchedulerLimits
  #waiting: Job[] = []
  #running: Job[] = []
  #loop: Promise<void> | undefined
  #isClosed = false

  constructor(parts: SchedulerParts, limits: SchedulerLimits) {
    this.#parts = parts
    this.#limits = limits
  }

  get active(): number {
    return this.#running.length
  }

  /** Queues the tasks of one call, grouped by prompt; each promise settles with its task. */
  start(groups: readonly (readonly GenerationTask[])[]): Promise<GenerationEnd>[] {
    if (this.#isClosed) throw new EngineError('engine_unavailable', 'the engine is shutting down')
    const waitingCalls = new Set(this.#waiting.map((job) => job.call)).size
    if (waitingCalls >= this.#limits.maxWaiting + this.#parts.slots.idle)
      throw new EngineError('overloaded', 'too many requests are waiting for this model', {
        retryAfterSeconds,
      })
    const call = {}
    const ends = groups.flatMap((tasks) => {
      let leader: Job | undefined
      return tasks.map((task) => {
        const { job, end } = this.#queue(task, call, leader)
        leader ??= job
        return end
      })
    })
    this.#wake()
    return ends
  }

  /** Ends everything that runs or waits, and resolves when the context is idle. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#loop
    for (const job of [...this.#waiting, ...this.#running])
      this.#finish(job, new EngineError('engine_unavailable', 'the engine is shutting down'))
  }

  #queue(
    task: GenerationTask,
    call: object,
    leader: Job | undefined,
  ): { job: Job; end: Promise<GenerationEnd> } {
    const { promise, resolve, reject } = Promise.withResolvers<GenerationEnd>()
    const job: Job = {
      task,
      call,
      leader,
      slot: undefined,
      sequence: undefined,
      isDone: false,
      settle: (result) => (result instanceof EngineError ? reject(result) : resolve(result)),
    }
    const onAbort = (): void => this.#leaveQueue(job)
    task.signal.addEventListener('abort', onAbort, { once: true })
    this.#waiting.push(job)
    return { job, end: promise.finally(() => task.signal.removeEventListener('abort', onAbort)) }
  }

  #wake(): void {
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined
      if (!this.#isClosed && this.#waiting.length > 0) this.#wake()
    })
  }

  async #run(): Promise<void> {
    // Requests that arrive together should be evaluated together from the first step on.
    await new Promise((resolve) => setImmediate(resolve))
    while (!this.#isClosed) {
      for (const job of [...this.#waiting, ...this.#running])
        if (job.task.signal.aborted) this.#finish(job, aborted())
      await this.#admit()
      if (this.#running.length === 0) return
      await this.#step()
    }
  }

  /** First come, first served, except that a job that can soon copy its prompt is passed over meanwhile. */
  async #admit(): Promise<void> {
    for (const job of [...this.#waiting]) {
      if (job.leader !== undefined && !isEvaluated(job.leader)) continue
      try {
        if (!(await this.#place(job))) return
      } catch (cause) {
        this.#finish(job, failureOf(cause, 'the prompt could not be prepared'))
      }
    }
  }

  /** Returns false if no sequence is free. */
  async #place(job: Job): Promise<boolean> {
    const { task } = job
    const slot = await this.#parts.slots.take({
      tokens: task.prompt,
      key: task.key,
      mayReuse: task.promptLogprobs === undefined,
    })
    if (slot === undefined) return false
    if (job.isDone) {
      this.#parts.slots.release(slot, task.keep) // aborted while its slot was being prepared
      return true
    }
    job.slot = slot
    this.#waiting = this.#waiting.filter((waiting) => waiting !== job)
    this.#running.push(job)
    job.sequence = new RunningSequence(this.#parts, slot, task)
    task.onStart(slot.tokens.length)
    return true
  }

  async #step(): Promise<void> {
    const { native, threads } = this.#parts
    const sequences = this.#running.flatMap(({ sequence }) => (sequence ? [sequence] : []))
    const counts = planBatch(
      sequences.map((sequence) => sequence.need),
      this.#limits,
    )
    try {
      native.initBatch(counts.reduce((sum, count) => sum + count, 0))
      for (const [at, sequence] of sequences.entries()) sequence.addToBatch(counts[at] ?? 0)
      await threads.use((count) => {
        native.setThreads(count)
        return native.decodeBatch()
      })
    } catch (cause) {
      // How far the batch got is unknown, so nothing of these sequences is kept.
      for (const job of [...this.#running]) {
        if (job.slot) this.#parts.slots.clear(job.slot)
        this.#finish(job, failureOf(cause, 'the model could not go on'))
      }
      return
    }
    const sampled = this.#running.map(async (job) => ({ job, end: await sample(job) }))
    for (const { job, end } of await Promise.all(sampled))
      if (end !== undefined) this.#finish(job, end)
  }

  /** A waiting job leaves immediately; a running one is noticed before the next batch. */
  #leaveQueue(job: Job): void {
    if (this.#waiting.includes(job)) this.#finish(job, aborted())
  }

  #finish(job: Job, result: GenerationEnd | EngineError): void {
    if (job.isDone) return
    job.isDone = true
    this.#waiting = this.#waiting.filter((waiting) => waiting !== job)
    this.#running = this.#running.filter((running) => running !== job)
    job.sequence?.dispose()
    if (job.slot !== undefined) this.#parts.slots.release(job.slot, job.task.keep)
    job.settle(result)
  }
}

async function sample({ sequence }: Job): Promise<GenerationEnd | EngineError | undefined> {
  try {
    return await sequence?.takeResults()
  } catch (cause) {
    return failureOf(cause, 'no next token could be chosen')
  }
}

const isEvaluated = (job: Job): boolean => job.isDone || job.sequence?.isGenerating === true

const aborted = (): EngineError => new EngineError('aborted', 'the request was aborted')

const failureOf = (cause: unknown, message: string): EngineError =>
  cause instanceof EngineError ? cause : new EngineError('engine_failed', message, { cause })
