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
}

/** Times in milliseconds, one per round. */
export type PageTimes = Readonly<Record<string, readonly number[]>>

const rounds = { connect: 10, request: 60, burst: 30, paced: 4 }

const config = (await (await fetch('/config')).json()) as PageConfig
const times: Record<string, number[]> = {}
const ask = (content: string) => [{ role: 'user' as const, content }]

const connect = (shape: 'off' | 'default') => {
  const { endpoint, apiKey, logKey, softwareRoot } = config
  const software = acceptSoftware(softwareRoot)
  return Privatemode.connect({ endpoint, apiKey, manifest: { logKey }, software, shape })
}

async function timed(name: string, work: () => Promise<void>): Promise<void> {
  const started = performance.now()
  await work()
  times[name] ??= []
  times[name].push(performance.now() - started)
}

const path = '/v1/chat/completions'
const post =
  (fetcher: (url: string, init: RequestInit) => Promise<Response>, base: string) =>
  async (body: object) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${config.apiKey}` },
      body: JSON.stringify({ model: config.model, ...body }),
    }
    const response = await fetcher(`${base}${path}`, init)
    if (response.body === null) throw new Error('no body')
    const reader = response.body.getReader()
    let bytes = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return bytes
      bytes += value.length
    }
  }

async function firstRequest(): Promise<void> {
  const pm = await connect('off')
  const sealed = post(pm.fetch, pm.baseURL.replace(/\/v1$/, ''))
  await sealed({ messages: ask('hello') })
}

try {
  await timed('first in a fresh page', firstRequest)
  for (let i = 0; i < rounds.connect; i++) await timed('first, code warm', firstRequest)
  const plain = post((url, init) => fetch(url, init), config.plainUrl)
  const off = await connect('off')
  const shaped = await connect('default')
  const base = config.endpoint
  const [sealedOff, sealedDefault] = [post(off.fetch, base), post(shaped.fetch, base)]
  const compared = { plain, 'sealed, shape off': sealedOff, 'sealed, shape default': sealedDefault }
  for (let i = 0; i < rounds.request; i++) {
    for (const [name, send] of Object.entries(compared)) {
      await timed(`request, ${name}`, async () => void (await send({ messages: ask('hello') })))
    }
  }
  for (const [kind, count, order] of [
    ['burst', rounds.burst, '[[words 256]]'],
    ['paced', rounds.paced, '[[pace 5]] [[words 256]]'],
  ] as const) {
    for (let i = 0; i < count; i++) {
      for (const [name, send] of Object.entries(compared)) {
        const body = { stream: true, messages: ask(order) }
        await timed(`${kind} stream, ${name}`, async () => void (await send(body)))
      }
    }
  }
  await fetch('/outcomes', { method: 'POST', body: JSON.stringify(times) })
} catch (error) {
  await fetch('/outcomes', { method: 'POST', body: JSON.stringify({ failure: String(error) }) })
}
