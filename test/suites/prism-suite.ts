/** Sends answers of the stack through Prism, which validates them against OpenAI's API description. */
import { freePorts } from '@privatemode/service/testing'
import type { Failure, SuiteResult } from './suite-result.ts'

export type PrismPaths = { readonly program: string; readonly description: string }

type Case = readonly [name: string, method: 'GET' | 'POST', path: string, body?: object]

const tool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: {} } },
}

const casesFor = (model: string): readonly Case[] => {
  const messages = [{ role: 'user', content: 'hello' }]
  const order = [{ role: 'user', content: '[[tool look {}]]' }]
  const reason = [{ role: 'user', content: '[[reason]] hello' }]
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const format = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } }
  const chat = '/chat/completions'
  return [
    ['chat', 'POST', chat, { model, messages }],
    ['chat with a tool', 'POST', chat, { model, messages: order, tools: [tool] }],
    ['chat with reasoning', 'POST', chat, { model, messages: reason }],
    ['chat with two choices', 'POST', chat, { model, messages, n: 2 }],
    ['chat with a token limit', 'POST', chat, { model, messages, max_completion_tokens: 1 }],
    ['chat with a schema', 'POST', chat, { model, messages, response_format: format }],
    ['chat refused', 'POST', chat, { model, messages: [{ role: 'user', content: [image] }] }],
    ['chat, unknown model', 'POST', chat, { model: 'none', messages }],
    ['completion', 'POST', '/completions', { model, prompt: 'hello' }],
    ['embedding', 'POST', '/embeddings', { model, input: 'hello' }],
    [
      'embedding as base64',
      'POST',
      '/embeddings',
      { model, input: 'a', encoding_format: 'base64' },
    ],
    ['response', 'POST', '/responses', { model, input: 'hello' }],
    ['models', 'GET', '/models'],
    ['model', 'GET', `/models/${model}`],
  ]
}

/** Only answers that are not streams: Prism reads no events. */
export async function runPrism(
  { program, description }: PrismPaths,
  proxyUrl: string,
  model: string,
): Promise<SuiteResult> {
  const [port = 0] = freePorts(1)
  const args = ['proxy', description, `${proxyUrl}/v1`, '--errors', '--port', String(port)]
  // The requests are ours; only the answers are checked.
  const child = Bun.spawn(['node', program, ...args, '--validate-request=false'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    await untilListening(child.stdout)
    const cases = casesFor(model)
    const failures: Failure[] = []
    for (const [test, method, path, body] of cases) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { 'content-type': 'application/json', authorization: 'Bearer unused' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const isViolation = /stoplight\.io\/prism\/errors/.test(text)
      if (isViolation) failures.push({ test, reason: text.slice(0, 600) })
    }
    return { passed: cases.length - failures.length, skipped: 0, failures }
  } finally {
    child.kill()
  }
}

/** The description has three megabytes and is read first. Prism dies when nobody reads its log. */
function untilListening(output: ReadableStream<Uint8Array>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const read = async () => {
    const decoder = new TextDecoder()
    let last = ''
    for await (const chunk of output) {
      last = (last + decoder.decode(chunk, { stream: true })).slice(-2000)
      if (last.includes('is listening')) resolve()
    }
    reject(new Error(`Prism ended: ${last}`))
  }
  read().catch(reject)
  return promise
}
