/** Consumes the chunks of a stream to its end, without waiting between those that arrive together. */
import type { Chunks, JsonObject } from './engine.ts'

export async function eachChunk(chunks: Chunks, take: (chunk: JsonObject) => void): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      let chunk: JsonObject | undefined = next.value
      while (chunk !== undefined) {
        take(chunk)
        chunk = iterator.ready?.()
      }
    }
  } finally {
    await iterator.return?.()
  }
}
