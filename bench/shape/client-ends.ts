/**
 * When official clients return, and whether they close, if padding follows the last event of a stream, or comes
 * before it: `node scripts/run.mjs bench/shape/client-ends.ts`. The table in docs/traffic-shape.md has its output.
 */
import { createTestAuthority } from '@privatemode/service/testing'
import { type Job, startClients } from './wire-clients.ts'
import { clients } from './wire-plan.ts'

const paddingMs = 3_000
const tickMs = 50

const chat = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const named = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const message = {
  ...{ id: 'a', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null },
  ...{ stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
}

/** All but the last event, and that. */
const dialects = {
  openai: {
    answer: chat({ content: 'hello' }, null) + chat({}, 'stop'),
    last: 'data: [DONE]\n\n',
  },
  anthropic: {
    answer:
      named('message_start', { message }) +
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }) +
      named('content_block_stop', { index: 0 }) +
      named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
    last: named('message_stop', {}),
  },
}

type Order = 'padding after the last event' | 'padding before the last event'

async function measure(order: Order): Promise<void> {
  let cutMs: number | undefined
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      const { answer, last } = dialects[request.url.endsWith('messages') ? 'anthropic' : 'openai']
      const startMs = performance.now()
      const isAfter = order === 'padding after the last event'
      cutMs = undefined
      const body = async function* () {
        let isOver = false
        try {
          yield answer + (isAfter ? last : '')
          while (performance.now() - startMs < paddingMs) {
            await Bun.sleep(tickMs)
            yield `:${'.'.repeat(500)}\n\n`
          }
          if (!isAfter) yield last
          isOver = true
        } finally {
          if (!isOver) cutMs = performance.now() - startMs
        }
      }
      return new Response(body() as never, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const official = await startClients(createTestAuthority('Client ends').certPem)
  for (const client of clients) {
    const body = {
      ...{ model: 'm', max_tokens: 9, stream: true },
      messages: [{ role: 'user', content: 'hello' }],
    }
    const job: Job = {
      ...{ client, url: `http://127.0.0.1:${server.port}`, apiKey: 'none', body },
      ...{ shared: false, isError: false },
    }
    await official.ask(job) // what a client loads at its first call
    const { totalMs } = await official.ask(job)
    await Bun.sleep(500)
    const closed = cutMs === undefined ? 'reads to the end' : `closes after ${seconds(cutMs)} s`
    console.log(`| ${client} | ${order} | returns after ${seconds(totalMs)} s | ${closed} |`)
  }
  official.stop()
  await server.stop(true)
}

const seconds = (ms: number) => (ms / 1000).toFixed(1)

await measure('padding after the last event')
await measure('padding before the last event')
