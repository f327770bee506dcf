/** Passes sealed bytes to the runtime as a response body. */
import { ApiError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Sink } from './seal-stream.ts'

/**
 * Returns the body that `seal` writes, cut off if it fails. Its first bytes are made before the
 * runtime asks for them: available immediately, they are sent with the head, and the reader wakes
 * once for both.
 */
export async function sealedBody(
  seal: (sink: Sink) => Promise<void>,
  signal: AbortSignal,
  cancel: () => void,
): Promise<ReadableStream<Bytes>> {
  const begun = Promise.withResolvers<Bytes>()
  const taken = Promise.withResolvers<ReadableStreamDirectController>()
  const isGone = () => new ApiError('internal_error', 'the reader disconnected')
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

  // A reader that disconnects before it has read anything may never pull.
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
