/** Sends the marked secrets down every path, above all those that fail. */
import type { ScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import type { Entrance } from '../clients/entrance.ts'
import { marked } from './marked.ts'

const data = `data:image/png;base64,${Buffer.from(marked.imageBytes).toString('base64')}`
const tool = {
  type: 'function',
  function: { name: marked.toolName, parameters: { type: 'object', properties: {} } },
}
const orders = `[[tool ${marked.toolName} {"who":"${marked.toolArgument}"}]]`

const chat = (content: string, more: object = {}) => ({
  model: 'scripted',
  messages: [{ role: 'user', content }],
  cache_salt: marked.salt,
  temperature: Number(marked.parameter),
  stop: [marked.stop],
  user: marked.user,
  ...more,
})
const prompt = `${marked.prompt} [[say ${marked.answer}]]`

/** The status of every call, for tests that want to know that something happened. */
export async function provoke(entrance: Entrance, server: ScriptedServer): Promise<number[]> {
  const statuses: number[] = []
  const ask = async (path: string, body: object | string, headers?: Record<string, string>) => {
    statuses.push((await entrance.ask(path, body, headers)).status)
  }
  const path = '/v1/chat/completions'
  for (const stream of [false, true]) {
    await ask(path, chat(prompt, { stream }))
    await ask(path, chat(`${marked.prompt} ${orders}`, { stream, tools: [tool] }))
    await ask(path, chat(`[[error 500 ${marked.engineError} ${marked.prompt}]]`, { stream }))
    await ask(path, chat(`[[error 400 ${marked.engineError}]] ${marked.prompt}`, { stream }))
    await ask(path, chat(`[[die 2]] ${marked.prompt} ${marked.answer}`, { stream }))
    await ask(path, chat(`[[fail 2]] ${marked.prompt} ${marked.answer}`, { stream }))
    const asked = { model: 'scripted', max_tokens: 50, stream, metadata: { user_id: marked.user } }
    await ask('/v1/messages', { ...asked, messages: [{ role: 'user', content: prompt }] })
    await ask('/v1/responses', { model: 'scripted', stream, input: prompt })
  }
  await ask('/v1/completions', { model: 'scripted', prompt })
  await ask('/v1/embeddings', { model: 'scripted', input: marked.prompt })
  const image = [
    { type: 'text', text: marked.prompt },
    { type: 'image_url', image_url: { url: data } },
  ]
  await ask(path, { ...chat(''), messages: [{ role: 'user', content: image }] })

  // Invalid requests.
  await ask(path, `{"model":"scripted","messages":[{"role":"user","content":"${marked.brokenJson}`)
  await ask(path, { ...chat(marked.prompt), temperature: marked.prompt })
  await ask(path, { ...chat(marked.prompt), [marked.prompt]: marked.brokenJson, n: marked.user })
  await ask(path, { model: { [marked.prompt]: 1 }, messages: marked.brokenJson })
  await ask(path, `{"${marked.user}":1,"${marked.user}":2,"model":"scripted"}`)
  await ask(path, `${marked.brokenJson}${' '.repeat(33 * 1024 * 1024)}`)
  await ask(path, chat(marked.prompt), { ...entrance.auth, 'content-type': marked.header })
  await ask(path, marked.brokenJson, { ...entrance.auth, 'content-encoding': 'gzip' })
  await ask(`/v1/${marked.path}?key=${marked.wrongKey}`, chat(marked.prompt))
  await ask(path, chat(marked.prompt, { model: 'no-such-model' }))

  // Keys and headers.
  const odd = {
    'x-custom': marked.header,
    cookie: `session=${marked.header}`,
    referer: marked.path,
  }
  await ask(path, chat(prompt), { ...entrance.auth, ...odd })
  await ask(path, chat(prompt), { authorization: `Bearer ${marked.wrongKey}` })
  await ask(path, chat(prompt), { 'x-api-key': marked.wrongKey })
  await ask(path, chat(prompt), { authorization: `Basic ${btoa(`user:${marked.wrongKey}`)}` })

  await abortStream(entrance)
  server.setDown(true)
  await ask(path, chat(prompt))
  server.setDown(false)
  return statuses
}

/** Disconnects in the middle of an answer. */
async function abortStream(entrance: Entrance): Promise<void> {
  const slow = chat(`${marked.prompt} [[pace 50]] ${marked.answer}`, { stream: true })
  const gone = new AbortController()
  const response = await entrance.post('/v1/chat/completions', slow, entrance.auth, {
    signal: gone.signal,
  })
  await response.body?.getReader().read()
  gone.abort()
}

/** A stream that is still running when the promise resolves; it ends as it likes. */
export async function beginStream(entrance: Entrance): Promise<Promise<unknown>> {
  const slow = chat(`${marked.prompt} [[words 400]] [[pace 50]]`, { stream: true })
  const response = await entrance.post('/v1/chat/completions', slow)
  return response.text().catch(() => '')
}
