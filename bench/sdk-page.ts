/** Measures the SDK inside a page: first verified request, later requests, and streams. */
import { Privatemode } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'

export type PageConfig = {
  readonly endpoint: string
  readonly apiKey: string
  readonly logKey: string
  readonly softwareRoot: string
  readonly model: string
  /** The same model server without any protection. */
  readonly plainUrl: string
  /** Whether to stop after the first request: that needs a fresh page each time. */
  readonly onlyFirst: boolean
}

/** Times in milliseconds, one per round. */
export type PageTimes = Readonly<Record<string, readonly number[]>>

type Send = (body: object) => Promise<void>

/** The first rounds are not counted: programs are slower right after they start. */
const warming = { request: 40, burst: 4, paced: 1 }
const rounds = { request: 120, burst: 30, paced: 12 }
const times: Record<string, number[]> = {}
const ask = (content: string) => [{ role: 'user' as const, content }]

try {
  await measure((await (await fetch('/config')).json()) as PageConfig)
  await post(times)
} catch (error) {
  await post({ failure: String(error) })
}

async function measure(config: PageConfig): Promise<void> {
  const { endpoint, apiKey, logKey, softwareRoot, plainUrl, onlyFirst } = config
  const connect = (shape: 'off' | 'default') => {
    const software = acceptSoftware(softwareRoot)
    return Privatemode.connect({ endpoint, apiKey, manifest: { logKey }, software, shape })
  }
  const through = (fetcher: (url: string, init: RequestInit) => Promise<Response>, base: string) =>
    sender(fetcher, `${base}/v1/chat/completions`, config)
  await timed('first', async () => {
    const pm = await connect('off')
    await through(pm.fetch, endpoint)({ messages: ask('hello') })
  })
  if (onlyFirst) return
  const compared = {
    plain: through((url, init) => fetch(url, init), plainUrl),
    off: through((await connect('off')).fetch, endpoint),
    default: through((await connect('default')).fetch, endpoint),
  }
  // One after the other in every round, and another first each time, so that whatever else the
  // machine does falls on all.
  const senders = Object.entries(compared)
  for (const [kind, body] of [
    ['request', { messages: ask('hello') }],
    ['burst', { stream: true, messages: ask('[[words 256]]') }],
    ['paced', { stream: true, messages: ask('[[pace 5]] [[words 256]]') }],
  ] as const) {
    for (let i = -warming[kind]; i < rounds[kind]; i++) {
      const turn = (i + warming[kind]) % senders.length
      for (const [name, send] of [...senders.slice(turn), ...senders.slice(0, turn)]) {
        if (i < 0) await send(body)
        else await timed(`${kind}/${name}`, () => send(body))
      }
    }
  }
}

function sender(
  fetcher: (url: string, init: RequestInit) => Promise<Response>,
  url: string,
  { apiKey, model }: PageConfig,
): Send {
  return async (body) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
    const init = { method: 'POST', headers, body: JSON.stringify({ model, ...body }) }
    const response = await fetcher(url, init)
    const reader = response.body?.getReader()
    for (let ended = false; !ended; ) ended = (await reader?.read())?.done ?? true
    if (!response.ok) throw new Error(`status ${response.status}`)
  }
}

async function timed(name: string, work: () => Promise<void>): Promise<void> {
  const started = performance.now()
  await work()
  times[name] ??= []
  times[name].push(performance.now() - started)
}

async function post(value: object): Promise<void> {
  await fetch('/outcomes', { method: 'POST', body: JSON.stringify(value) })
}
