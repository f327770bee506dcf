import { afterAll, expect, test } from 'bun:test'
import { findServers, formatFound, probes } from './find-servers.ts'

const answers: Record<string, unknown> = {
  '/ollama/api/tags': { models: [{ name: 'qwen3:latest' }, { name: 'gemma3:4b' }] },
  '/empty/api/tags': { models: [] },
  '/hostile/api/tags': { models: [{ name: 'x\u001b[2J; rm -rf ~' }] },
  '/vllm/v1/models': { data: [{ id: 'm', owned_by: 'vllm' }] },
  '/rust/v1/models': { data: [{ id: 'm', owned_by: 'vllm-frontend-rs' }] },
  '/llama/v1/models': { data: [{ id: 'm', owned_by: 'llamacpp' }] },
  '/other/v1/models': { data: [{ id: 'm', owned_by: 'library' }] },
}
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/silent')) return new Promise<Response>(() => {})
    if (pathname.startsWith('/endless')) return new Response(endless())
    const answer = answers[pathname]
    return answer === undefined ? new Response('no', { status: 404 }) : Response.json(answer)
  },
})
afterAll(() => server.stop(true))

let endlessPieces = 0
let isEndlessCancelled = false
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(controller) {
      endlessPieces += 1
      controller.enqueue(new Uint8Array(65_536).fill(0x20))
    },
    cancel() {
      isEndlessCancelled = true
    },
  })
}

const at = (path: string) => `${server.url.origin}${path}`

test('an Ollama, a vLLM and a llama-server are found, each with the flag that uses it', async () => {
  const found = await findServers(
    [
      [at('/ollama'), probes.ollama],
      [at('/vllm'), probes.openAi],
      [at('/rust'), probes.openAi],
      [at('/llama'), probes.openAi],
    ],
    60_000,
  )
  expect(found.map(formatFound)).toEqual([
    `Found Ollama at ${at('/ollama')}; to use it: npm start -- --chatModel ollama:qwen3`,
    `Found vLLM at ${at('/vllm')}; to use it: npm start -- --engineUrl ${at('/vllm')}`,
    `Found vLLM at ${at('/rust')}; to use it: npm start -- --engineUrl ${at('/rust')}`,
    `Found llama-server at ${at('/llama')}; to use it: npm start -- --engineUrl ${at('/llama')}`,
  ])
})

test('absent, unknown and slow servers and hostile names are ignored', async () => {
  const found = await findServers([
    ['http://127.0.0.1:1', probes.ollama],
    [at('/empty'), probes.ollama],
    [at('/hostile'), probes.ollama],
    [at('/other'), probes.openAi],
    [at('/silent'), probes.openAi],
  ])
  expect(found).toEqual([])
})

test('an answer without end is given up once it is longer than a list of models', async () => {
  expect(await findServers([[at('/endless'), probes.openAi]], 60_000)).toEqual([])
  while (!isEndlessCancelled) await Bun.sleep(5)
  expect(endlessPieces).toBeGreaterThan(15)
})
