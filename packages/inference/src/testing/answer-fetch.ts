/** A `fetch` whose server is the API core, for tests with official clients. */
import type { Engine } from '../engine.ts'
import { start } from './ask.ts'

export function fetchOf(engine: Engine): typeof fetch {
  const answering = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input as string, init)
    const url = new URL(request.url)
    const body = new Uint8Array(await request.arrayBuffer())
    const got = await start(engine, url.pathname + url.search, body)
    return new Response(got.body instanceof Uint8Array ? got.body.slice() : streamOf(got.body), {
      status: got.status,
      headers: got.headers,
    })
  }
  return Object.assign(answering, { preconnect: () => {} })
}

function streamOf(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const source = body[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const next = await source.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    async cancel() {
      await source.return?.()
    },
  })
}
