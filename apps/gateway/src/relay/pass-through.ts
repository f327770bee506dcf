/** Passes a worker's answer on, chunk by chunk: the reader's pace is the sender's pace. */

export type StreamEnd = 'complete' | 'aborted' | 'broken'

/** Nothing is held beyond one chunk. `onEnd` is called once, with the bytes that went through. */
export function passThrough(
  source: ReadableStream<Uint8Array>,
  onEnd: (end: StreamEnd, bytes: number) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  let bytes = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          controller.close()
          onEnd('complete', bytes)
          return
        }
        bytes += value.length
        controller.enqueue(value)
      } catch (error) {
        // An errored stream cuts the connection: the client sees no clean end.
        controller.error(error)
        onEnd('broken', bytes)
      }
    },
    async cancel(reason) {
      onEnd('aborted', bytes)
      await reader.cancel(reason)
    },
  })
}
