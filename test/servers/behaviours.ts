/** What a single request cannot show: salts, many streams, aborted calls, costly forms, servers that die. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { costlyForms } from '../../packages/inference/src/testing/costly-forms.ts'
import type { RunningStack } from '../e2e/running-stack.ts'
import type { Entrance, Json } from './entrances.ts'
import { picture, pictureBase64 } from './picture.ts'
import { modelName as model, type RealServer, type Variant } from './real-server.ts'
import { readRequestFields } from './request-fields.ts'

export type Scene = {
  readonly server: RealServer
  readonly stack: RunningStack
  readonly entrance: Entrance
  readonly chats: number
}

/** A short result; throws if it is wrong. */
export type Behaviour = {
  readonly name: string
  /** Chat, if not given. */
  readonly variant?: Variant
  readonly isFor: (server: RealServer) => boolean
  readonly run: (scene: Scene) => Promise<string>
}

const longText = () => `${randomBytes(400).toString('hex').match(/.{4}/g)?.join(' ')}`
const user = (content: string) => [{ role: 'user', content }]

const paths: readonly (readonly [string, (text: string, tokens: number) => Json])[] = [
  ['/v1/chat/completions', (text, n) => ({ model, messages: user(text), max_tokens: n })],
  ['/v1/completions', (prompt, n) => ({ model, prompt, max_tokens: n })],
  ['/v1/messages', (text, n) => ({ model, messages: user(text), max_tokens: n })],
  ['/v1/responses', (input, n) => ({ model, input, max_output_tokens: Math.max(16, n) })],
]

function require(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what)
}

/** Salts A, B, A: only the last may find what the first left, by the server's own count of hits. */
const salts: readonly Behaviour[] = paths.map(([path, bodyOf]) => ({
  name: `salts A, B, A at ${path}`,
  isFor: ({ plan }) => plan.counters !== undefined,
  async run({ server, entrance }) {
    const [a, b] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
    const almost = `${a.slice(0, -2)}${a.at(-2) === 'A' ? 'B' : 'A'}=`
    const body = bodyOf(longText(), 1)
    const hits = async (cache_salt: string | undefined) => {
      const before = await server.count('hits')
      const { status } = await entrance.ask(path, { ...body, cache_salt })
      require(status === 200, `status ${status}`)
      return (await server.count('hits')) - before
    }
    const found = [await hits(a), await hits(b), await hits(almost), await hits(a)]
    const [first, other, near, again = 0] = found
    require(first === 0 && other === 0 && near === 0, `hits of ${found.join(', ')} tokens`)
    // Where salts keep nobody apart, nothing is kept at all.
    const isSalted = server.plan.isSalted
    require(isSalted === again > 0, `the same salt found ${again} tokens`)
    return `hits: ${found.join(', ')} tokens`
  },
}))

const imagePaths: readonly (readonly [string, (name: string) => Json])[] = [
  [
    '/v1/chat/completions',
    (name) => ({
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: picture(name) } }] },
      ],
      max_tokens: 4,
    }),
  ],
  [
    '/v1/messages',
    (name) => {
      const source = { type: 'base64', media_type: 'image/png', data: pictureBase64(name) }
      const messages = [{ role: 'user', content: [{ type: 'image', source }] }]
      return { messages, max_tokens: 4 }
    },
  ],
  [
    '/v1/responses',
    (name) => ({
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: picture(name) }] }],
      max_output_tokens: 16,
    }),
  ],
]

/** The same for an image that both callers have: whether it was processed before shows in the time. */
const imageSalts: readonly Behaviour[] = imagePaths.map(([path, bodyOf]) => ({
  name: `an image under salts A, B, A at ${path}`,
  variant: 'vision',
  isFor: ({ plan }) => plan.counters?.images !== undefined,
  async run({ server, entrance }) {
    const [a, b] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
    const body = { model, ...bodyOf(randomBytes(8).toString('hex')) }
    const found: number[] = []
    for (const cache_salt of [a, b, a]) {
      const before = await server.count('images')
      const { status } = await entrance.ask(path, { ...body, cache_salt })
      require(status === 200, `status ${status}`)
      found.push((await server.count('images')) - before)
    }
    const [first, other, again = 0] = found
    require(first === 0 && other === 0 && again > 0, `hits: ${found.join(', ')} images`)
    return `hits: ${found.join(', ')} images`
  },
}))

const odd = [
  ...[
    '@',
    '/',
    '\\',
    '\0',
    '\n',
    "'",
    '"',
    '%00',
    '../',
    '{{7*7}}',
    '世',
    '🧂',
    '\u202e',
    '\ud800',
    '\udfff',
  ],
]

function hostileSalt(index: number): string {
  const kind = index % 4
  if (kind === 0) return randomBytes(32).toString('base64')
  if (kind === 1) return randomBytes(768).toString('base64').slice(0, 1024)
  if (kind === 2) return (odd[Math.floor(index / 4) % odd.length] ?? '@').repeat(40).slice(0, 1024)
  const points = Array.from({ length: 64 }, (_, i) => (index * 64 + i) % 0x110000)
  return String.fromCodePoint(...points)
}

const hostile: Behaviour = {
  name: 'chats with random and hostile salts',
  isFor: () => true,
  async run({ entrance, chats }) {
    const body = { model, messages: user('Say hello.'), max_tokens: 1 }
    const statuses = new Map<number, number>()
    let next = 0
    const lane = async () => {
      for (let index = next++; index < chats; index = next++) {
        const cache_salt = hostileSalt(index)
        const { status } = await entrance.ask('/v1/chat/completions', { ...body, cache_salt })
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    require(statuses.get(200) === chats, `statuses: ${JSON.stringify([...statuses])}`)
    for (const cache_salt of ['', 'short']) {
      const { status, json } = await entrance.ask('/v1/chat/completions', { ...body, cache_salt })
      const isOurs = status === 400 && json.error.param === 'cache_salt'
      require(isOurs, `a salt of ${cache_salt.length} characters has status ${status}`)
    }
    return `${chats} of ${chats} answered; an empty and a short salt are refused by our rule`
  },
}

const manyStreams: Behaviour = {
  name: '64 streams at once',
  isFor: () => true,
  async run({ entrance }) {
    const body = { model, messages: user('Say hello.'), temperature: 0, stream: true }
    const all = await Promise.all(
      Array.from({ length: 64 }, () => entrance.ask('/v1/chat/completions', body)),
    )
    const texts = all.map(({ events }) =>
      events.map((event) => event.choices?.[0]?.delta?.content ?? '').join(''),
    )
    const isSame = texts.every((text) => text !== '' && text === texts[0])
    require(isSame && all.every(({ events }) => events.at(-1) === '[DONE]'), 'streams differ')
    return '64 whole and equal answers'
  },
}

const aborts: readonly Behaviour[] = paths.map(([path, bodyOf]) => ({
  name: `a stream given up at ${path}`,
  isFor: ({ plan }) => plan.counters !== undefined,
  async run({ server, entrance, stack }) {
    const aborter = new AbortController()
    const counts = () =>
      Promise.all((['prompt', 'output'] as const).map((name) => server.count(name)))
    const before = await counts()
    const question = path === '/v1/completions' ? 'Count' : 'Count to one hundred and twenty.'
    const body = { ...bodyOf(question, 600), temperature: 0, stream: true }
    const long = path === '/v1/completions' ? { ignore_eos: true } : {}
    const response = await entrance.open(path, { ...body, ...long }, aborter.signal)
    const id = response.headers.get('x-request-id') ?? ''
    const reader = response.body?.getReader()
    let bytes = 0
    while (bytes < 3000) bytes += (await reader?.read())?.value?.length ?? 3000
    aborter.abort()
    const started = performance.now()
    // Asked for its counters at this moment, vLLM counts tokens that it sends to no one.
    await Bun.sleep(100)
    while ((await server.count('running')) > 0) {
      require(performance.now() - started < 30_000, 'the server goes on')
      await Bun.sleep(20)
    }
    const idleMs = Math.round(performance.now() - started)
    const bill = await metered(stack, id)
    const after = await counts()
    const [prompt = 0, output = 0] = after.map((value, index) => value - (before[index] ?? 0))
    const told = `idle after ${idleMs} ms; billed ${bill.prompt_tokens} + ${bill.completion_tokens}, the server counts ${prompt} + ${output}`
    require(bill.prompt_tokens === prompt, told)
    require(idleMs <= 1000, told)
    // The step that runs when the news of the abort arrives is the server's own.
    const isClose = Math.abs(bill.completion_tokens - output) <= Math.max(2, 0.03 * output)
    require(isClose, told)
    return told
  },
}))

async function metered(stack: RunningStack, id: string): Promise<Json> {
  const token = readFileSync(join(stack.home, 'keys', 'admin-token'), 'utf8').trim()
  const query = 'from=2020-01-01&to=2100-01-01&limit=1000&order=newest'
  const url = `${stack.gatewayUrl}/privatemode/v1/admin/usage/requests?${query}`
  for (let turn = 0; turn < 400; turn++, await Bun.sleep(100)) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const { requests } = (await answer.json()) as Json
    const found = requests.find((one: Json) => one.request_id === id)
    if (found !== undefined) return found
  }
  throw new Error('the request was never metered')
}

/** The server, or its engine alone, is killed in a stream; then it is started again, and nothing else is. */
const deaths: readonly Behaviour[] = (['engine', 'server'] as const).map((which) => ({
  name: `SIGKILL of the ${which} in mid-stream, then a restart`,
  isFor: (server) => which === 'server' || server.hasEngineProcess,
  async run({ server, entrance }) {
    const messages = user('Count to one hundred and twenty.')
    const body = { model, messages, max_tokens: 4000, ignore_eos: true, stream: true }
    const response = await entrance.open('/v1/chat/completions', body)
    const reader = response.body?.getReader()
    await reader?.read()
    await server.kill(which)
    let text = ''
    for (;;) {
      const read = await reader?.read().catch(() => undefined)
      if (read === undefined || read.done) break
      text += new TextDecoder().decode(read.value)
    }
    require(!text.includes('[DONE]'), 'a cut answer looks whole')
    require(text.includes('"error"'), 'a cut answer tells no error')
    await server.stop()
    await server.start()
    const started = performance.now()
    const chat = { model, messages: user('Say hello.'), temperature: 0, max_tokens: 20 }
    for (;;) {
      const { status } = await entrance.ask('/v1/chat/completions', chat)
      if (status === 200) break
      require(performance.now() - started < 120_000, `still status ${status}`)
      await Bun.sleep(500)
    }
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    return `an error event, no good end; answers again ${seconds} s after the server is up`
  },
}))

/** A field passes unless it is refused: a release that has a new one needs someone to judge it. */
const fields: readonly Behaviour[] = (['chat', 'embed'] as const).map((variant) => ({
  name: `every field of a request is judged, ${variant}`,
  variant,
  isFor: ({ plan }) => plan.kind === 'vllm' || plan.kind === 'sglang',
  async run({ server }) {
    const fields = await readRequestFields(server.url)
    if (fields === undefined) return 'the server does not describe its requests'
    const { known, unread } = fields
    require(unread.length === 0, `not judged: ${unread.join(', ')}`)
    return `${known} fields`
  },
}))

/** With a divisor, vLLM prepares a schema by another library. */
const withDivisor = (schema: Json): Json => ({
  ...schema,
  properties: { ...schema.properties, b: { type: 'integer', multipleOf: 3 } },
})

const costly: Behaviour = {
  name: 'the costliest forms of an answer',
  isFor: () => true,
  async run({ entrance }) {
    const chat = { model, messages: user('Say hello.'), max_tokens: 8 }
    const withForm = (schema: Json): Json => ({
      ...chat,
      response_format: { type: 'json_schema', json_schema: { name: 'form', schema } },
    })
    let longest = 0
    for (const { name, most, more } of costlyForms) {
      const { status } = await entrance.ask('/v1/chat/completions', withForm(more))
      require(status === 400, `too much of ${name}: status ${status}`)
      for (const schema of [most, withDivisor(most)]) {
        const response = await entrance.open('/v1/chat/completions', withForm(schema))
        await response.arrayBuffer()
        require([200, 400].includes(response.status), `${name}: status ${response.status}`)
        const started = performance.now()
        const next = await entrance.ask('/v1/chat/completions', chat)
        require(next.status === 200, `after ${name}: status ${next.status}`)
        longest = Math.max(longest, performance.now() - started)
      }
    }
    return `the server survives them; the longest answer to the next caller took ${Math.round(longest)} ms`
  },
}

export const behaviours: readonly Behaviour[] = [
  ...[...salts, ...imageSalts, hostile, manyStreams, ...aborts, ...fields, costly],
]
export const deadlyBehaviours: readonly Behaviour[] = deaths
