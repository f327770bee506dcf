/** One question in each dialect that the proxy speaks. */
import { must } from '../confined/rows.ts'
import type { Scene } from './scene.ts'

const json = { 'content-type': 'application/json' }
const said = 'all is well'
const messages = [{ role: 'user', content: `[[say ${said}]]` }]

/** Path, body, and where the answer must have the words. */
const questions: readonly (readonly [string, object])[] = [
  ['/v1/chat/completions', { model: 'chat-model', messages }],
  ['/v1/chat/completions', { model: 'chat-model', messages, stream: true }],
  ['/v1/completions', { model: 'chat-model', prompt: `[[say ${said}]]`, max_tokens: 16 }],
  ['/v1/messages', { model: 'chat-model', max_tokens: 16, messages }],
  ['/v1/responses', { model: 'chat-model', input: `[[say ${said}]]` }],
]

export async function tryDialects({ cluster, rows }: Scene): Promise<void> {
  const url = `http://${await cluster.addressOf('privatemode-proxy-demo')}:8080`
  await rows.try('every dialect is answered through privatemode-proxy-demo', () =>
    askEverything(url),
  )
  await rows.try('text is embedded through it', () => embed(url))
}

async function askEverything(url: string): Promise<string> {
  for (const [path, body] of questions) {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.text()
    const words = 'stream' in body ? textOfStream(text) : text
    must(
      response.status === 200 && words.includes(said),
      `${path}: ${response.status} ${text.slice(0, 300)}`,
    )
  }
  const models = await (await fetch(`${url}/v1/models`)).text()
  must(models.includes('"chat-model"'), `/v1/models: ${models.slice(0, 300)}`)
  const paths = new Set(questions.map(([path]) => path))
  return `${[...paths].join(', ')}, a stream, /v1/models`
}

async function embed(url: string): Promise<string> {
  const response = await fetch(`${url}/v1/embeddings`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ model: 'chat-model', input: 'a line' }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  const vector = response.status === 200 ? JSON.parse(text).data?.[0]?.embedding : undefined
  must(
    Array.isArray(vector) && vector.length > 0,
    `/v1/embeddings: ${response.status} ${text.slice(0, 300)}`,
  )
  return `${vector.length} numbers`
}

function textOfStream(text: string): string {
  return [...text.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, event = '{}']) => JSON.parse(event).choices?.[0]?.delta?.content ?? '')
    .join('')
}
