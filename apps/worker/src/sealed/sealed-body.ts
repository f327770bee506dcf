/** Gives sealed bytes to the runtime as the body of a response. */
import { ApiError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Sink } from './seal-stream.ts'

/**
 * The body that `seal` writes, cut where it fails. Its first bytes are made before the runtime asks
 * for them: given at once they leave with the head, and who reads it wakes once for both.
 */
export async function sealedBody(
  seal: (sink: Sink) => Promise<void>,
  signal: AbortSignal,
  cancel: () => void,
): Promise<ReadableStream<Bytes>> {
  const begun = Promise.withResolvers<Bytes>()
  const taken = Promise.withResolvers<ReadableStreamDirectController>()
  const isGone = () => new ApiError('internal_error', 'the reader went away')
  let reader: ReadableStreamDirectController | undefined

  const sink: Sink = async (bytes) => {
    if (signal.aborted) throw isGone()
    if (reader === undefined) {
      begun.resolve(bytes)
      reader = await taken.promise
      return
    }
    reader.write(bytes)
    await reader.flush()
  }

  // A reader that is gone before it has read anything may never ask.
  signal.addEventListener('abort', () => taken.reject(isGone()), { once: true })
  taken.promise.catch(() => {})
  const sealing = seal(sink)
  sealing.catch(() => {})
  const first = await Promise.race([begun.promise, sealing.then(() => nothing)])
  return new ReadableStream({
    type: 'direct',
    pull: async (controller: ReadableStreamDirectController) => {
      controller.write(first)
      try {
        await controller.flush()
        taken.resolve(controller)
        await sealing
        controller.end()
      } catch (error) {
        controller.close(error instanceof Error ? error : new Error('failed'))
      }
    },
    cancel,
  } as unknown as ConstructorParameters<typeof ReadableStream<Bytes>>[0])
}

const nothing = new Uint8Array(0)
