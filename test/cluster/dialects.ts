/** One question in each dialect that the proxy speaks. */
import { must } from '../confined/rows.ts'
import type { Scene } from './scene.ts'

const json = { 'content-type': 'application/json' }

/** What to ask, without a conversation around it as well, and what the answer must have. */
type Question = { readonly text: string; readonly plain: string; readonly said: string }

const order: Question = {
  text: '[[say all is well]]',
  plain: '[[say all is well]]',
  said: 'all is well',
}
/** What the tiny model of the tests has learnt. */
const learnt: Question = {
  text: 'Who are you?',
  plain: '<|user|>Who are you?<|end|><|assistant|>',
  said: 'I am a tiny model.',
}

export async function tryDialects({ cluster, rows, vllmVersion }: Scene): Promise<void> {
  const url = `http://${await cluster.addressOf('privatemode-proxy-demo')}:8080`
  if (vllmVersion === undefined) {
    await rows.try('every dialect is answered through privatemode-proxy-demo', () =>
      askEverything(url, order),
    )
    await rows.try('text is embedded through it', () => embed(url))
    return
  }
  await rows.try('the worker’s pod runs vLLM with the arguments of the chart', async () => {
    const vllm = ['exec', 'deploy/privatemode-worker-chat-main', '-c', 'vllm', '--', 'python3']
    const code =
      'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8000/version").read())'
    const answer = await cluster.kubectl([...vllm, '-c', code])
    must(answer.includes(vllmVersion.replace(/\+.*/, '')), answer)
    const line = await cluster.kubectl([
      ...[...vllm, '-c'],
      'print(open("/proc/1/cmdline").read().replace("\\0", " "))',
    ])
    return `vLLM ${vllmVersion}: ${line.trim()}`
  })
  await rows.try('every dialect is answered by it through privatemode-proxy-demo', () =>
    askEverything(url, learnt),
  )
}

async function askEverything(url: string, question: Question): Promise<string> {
  const questions = dialects(question)
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
      response.status === 200 && words.includes(question.said),
      `${path}: ${response.status} ${text.slice(0, 300)}`,
    )
  }
  const models = await (await fetch(`${url}/v1/models`)).text()
  must(models.includes('"chat-model"'), `/v1/models: ${models.slice(0, 300)}`)
  const paths = new Set(questions.map(([path]) => path))
  return `${[...paths].join(', ')}, a stream, /v1/models: "${question.said}"`
}

/** Paths and bodies. */
function dialects({ text, plain }: Question): [string, object][] {
  const exact = { model: 'chat-model', temperature: 0 }
  const messages = [{ role: 'user', content: text }]
  return [
    ['/v1/chat/completions', { ...exact, messages }],
    ['/v1/chat/completions', { ...exact, messages, stream: true }],
    ['/v1/completions', { ...exact, prompt: plain, max_tokens: 16 }],
    ['/v1/messages', { ...exact, max_tokens: 16, messages }],
    ['/v1/responses', { ...exact, input: text }],
  ]
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
