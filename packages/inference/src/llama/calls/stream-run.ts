/** Runs a generation and passes its chunks to a reader. */
import type { JsonObject } from '../../engine.ts'
import {
  type PromptRun,
  type RunEvents,
  type RunOptions,
  startRun,
} from '../scheduling/generation-run.ts'
import type { SequenceScheduler } from '../scheduling/sequence-scheduler.ts'
import { ChunkQueue } from './chunk-queue.ts'

/** Turns the events of a generation into chunks. */
export interface StreamedAnswer {
  stream(push: (chunk: JsonObject) => void): RunEvents
  /** The last chunk: no choices, only the usage. */
  usageChunk(): JsonObject
}

/** Throws immediately if the queue is full. A reader that leaves ends the generation. */
export function streamRun(
  scheduler: SequenceScheduler,
  prompts: readonly PromptRun[],
  options: RunOptions,
  answer: StreamedAnswer,
): AsyncIterable<JsonObject> {
  const leave = new AbortController()
  const queue = new ChunkQueue<JsonObject>(() => leave.abort())
  const signal = AbortSignal.any([options.signal, leave.signal])
  const events = answer.stream((chunk) => queue.push(chunk))
  startRun(scheduler, prompts, { ...options, signal }, events).then(
    () => {
      queue.push(answer.usageChunk())
      queue.done()
    },
    (error) => queue.fail(error),
  )
  return queue
}
