/** Where the bytes of an answer come from, and what is said when they do not come. */
import { ApiError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Patience } from './patience.ts'
import { readBounded } from './read-bounded.ts'

/** Bytes as they come from the network; `undefined` at their end. */
export interface ByteSource {
  read(): Promise<Bytes | undefined>
  /** Told how much of what was read is authentic. */
  heard?(openedBytes: number): void
  cancel(): Promise<void>
}

export function streamSource(
  stream: ReadableStream<Bytes> | null,
  signal?: AbortSignal,
  patience?: Patience,
): ByteSource {
  const reader = stream?.getReader()
  return {
    async read() {
      if (reader === undefined) return undefined
      try {
        const reading = reader.read()
        const { done, value } = await (patience?.next(reading) ?? reading)
        return done ? undefined : value
      } catch (cause) {
        if (cause instanceof ApiError) void reader.cancel().catch(() => {})
        throw broken(cause, signal)
      }
    },
    heard: (openedBytes) => patience?.heard(openedBytes),
    async cancel() {
      await reader?.cancel().catch(() => {})
    },
  }
}

/** All the bytes of an answer that is not streamed, or an error where they are too many. */
export async function readWhole(
  response: Response,
  maxBytes: number,
  signal?: AbortSignal,
  patience?: Patience,
): Promise<Bytes> {
  let bytes: Bytes | undefined
  try {
    bytes = await readBounded(response, maxBytes, patience)
  } catch (cause) {
    throw broken(cause, signal)
  }
  if (bytes === undefined) throw tooLarge(maxBytes)
  return bytes
}

/** So much is opened in one go: a long answer of short frames must not stall the program. */
const turnBytes = 1024 * 1024

/** A body that was read whole, which is cheaper where nothing is streamed. */
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

/** An abort is the caller's own, and stays what the platform made it. */
const broken = (cause: unknown, signal: AbortSignal | undefined) =>
  signal?.aborted || cause instanceof ApiError
    ? cause
    : lost(cause, 'the connection to the backend broke')

export const tooLarge = (maxBytes: number) =>
  new ApiError('answer_too_large', `the answer is longer than ${maxBytes} bytes`)

export const lost = (cause: unknown, message: string) =>
  new ApiError('worker_unreachable', message, { cause })
