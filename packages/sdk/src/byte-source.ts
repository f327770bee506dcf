/** Where the bytes of an answer come from, and the errors if they stop coming. */
import { ApiError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { AnswerTimeout } from './answer-timeout.ts'
import { readBounded } from './read-bounded.ts'

/** Bytes as they arrive from the network; `undefined` at the end. */
export interface ByteSource {
  read(): Promise<Bytes | undefined>
  /** Reports how many of the bytes read so far are authentic. */
  reportOpened?(openedBytes: number): void
  cancel(): Promise<void>
}

export function streamSource(
  stream: ReadableStream<Bytes> | null,
  signal?: AbortSignal,
  answerTimeout?: AnswerTimeout,
): ByteSource {
  const reader = stream?.getReader()
  return {
    async read() {
      if (reader === undefined) return undefined
      try {
        const reading = reader.read()
        const { done, value } = await (answerTimeout?.next(reading) ?? reading)
        return done ? undefined : value
      } catch (cause) {
        if (cause instanceof ApiError) void reader.cancel().catch(() => {})
        throw broken(cause, signal)
      }
    },
    reportOpened: (openedBytes) => answerTimeout?.reportOpened(openedBytes),
    async cancel() {
      await reader?.cancel().catch(() => {})
    },
  }
}

/** Reads all bytes of an answer that is not streamed; throws if there are too many. */
export async function readWhole(
  response: Response,
  maxBytes: number,
  signal?: AbortSignal,
  answerTimeout?: AnswerTimeout,
): Promise<Bytes> {
  let bytes: Bytes | undefined
  try {
    bytes = await readBounded(response, maxBytes, answerTimeout)
  } catch (cause) {
    throw broken(cause, signal)
  }
  if (bytes === undefined) throw tooLarge(maxBytes)
  return bytes
}

/** How much is opened at once: a long answer of short frames must not stall the program. */
const turnBytes = 1024 * 1024

/** A body that was read at once, which is cheaper if nothing is streamed. */
export function wholeSource(bytes: Bytes): ByteSource {
  let at = 0
  return {
    async read() {
      if (at > 0 && at >= bytes.length) return undefined
      const taken = bytes.subarray(at, at + turnBytes)
      at += turnBytes
      return taken
    },
    async cancel() {},
  }
}

/** An abort is the caller's own and keeps the platform's reason. */
const broken = (cause: unknown, signal: AbortSignal | undefined) =>
  signal?.aborted || cause instanceof ApiError
    ? cause
    : lost(cause, 'the connection to the backend broke')

export const tooLarge = (maxBytes: number) =>
  new ApiError('answer_too_large', `the answer is longer than ${maxBytes} bytes`)

export const lost = (cause: unknown, message: string) =>
  new ApiError('worker_unreachable', message, { cause })
