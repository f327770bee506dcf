/** One of the two ways into a running stack, as a client uses it: the local proxy or the proxyless endpoint. */
import Anthropic from '@anthropic-ai/sdk'
import { SseDecoder } from '@privatemode/protocol/api'
import OpenAI from 'openai'
import type { RunningStack } from '../e2e/running-stack.ts'

export type Target = {
  readonly url: string
  /** What clients send as their key; the proxy of the stack has its own and needs none. */
  readonly apiKey: string | undefined
  /** PEM of the authority behind an HTTPS address. */
  readonly ca: string | undefined
}

export type Asked = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, or undefined; tests look deep into it. */
  // biome-ignore lint/suspicious/noExplicitAny: wire bodies are what a test is about
  readonly json: any
  /** The events of a stream; `data` is parsed unless it is the end mark. */
  // biome-ignore lint/suspicious/noExplicitAny: wire bodies are what a test is about
  readonly events: { event: string | undefined; data: any }[]
}

export type Body = object | string | Uint8Array<ArrayBuffer>

export class Entrance {
  readonly name: string
  readonly #find: () => Target

  /** The target is looked up when it is needed: tests are named before the stack has started. */
  constructor(name: string, find: () => Target) {
    this.name = name
    this.#find = find
  }

  get target(): Target {
    return this.#find()
  }

  get url(): string {
    return this.target.url
  }

  /** The headers that carry the client's key, where it needs one. */
  get auth(): Record<string, string> {
    const { apiKey } = this.target
    return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  }

  fetch(path: string, init: BunFetchRequestInit = {}): Promise<Response> {
    const { url, ca } = this.target
    return fetch(url + path, ca === undefined ? init : { ...init, tls: { ca } })
  }

  /** Posts JSON; `headers` replace the key and the content type where they name them. */
  post(
    path: string,
    body: Body,
    headers: Readonly<Record<string, string>> = this.auth,
    init: BunFetchRequestInit = {},
  ): Promise<Response> {
    const sent = typeof body === 'string' || body instanceof Uint8Array
    return this.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: sent ? body : JSON.stringify(body),
      ...init,
    })
  }

  async ask(path: string, body: Body, headers?: Readonly<Record<string, string>>): Promise<Asked> {
    return readAnswer(await this.post(path, body, headers))
  }

  async get(path: string, headers: Readonly<Record<string, string>> = this.auth): Promise<Asked> {
    return readAnswer(await this.fetch(path, { headers }))
  }

  /** What official clients take as their `fetch`. */
  clientFetch(): typeof fetch {
    const { ca } = this.target
    const own = (input: string | URL | Request, init?: RequestInit) =>
      fetch(input as string, { ...init, ...(ca === undefined ? {} : { tls: { ca } }) })
    return Object.assign(own, { preconnect: () => {} })
  }

  openai(options: Partial<ConstructorParameters<typeof OpenAI>[0]> = {}): OpenAI {
    return new OpenAI({
      baseURL: `${this.url}/v1`,
      apiKey: this.target.apiKey ?? 'unused',
      fetch: this.clientFetch(),
      maxRetries: 0,
      ...options,
    })
  }

  anthropic(Client: typeof Anthropic = Anthropic, maxRetries = 0): Anthropic {
    const apiKey = this.target.apiKey ?? 'unused'
    return new Client({ baseURL: this.url, apiKey, fetch: this.clientFetch(), maxRetries })
  }
}

export async function readAnswer(response: Response): Promise<Asked> {
  const text = await response.text()
  const { status, headers } = response
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false
  return {
    status,
    headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
    events: isStream ? readEvents(text) : [],
  }
}

function readEvents(text: string): Asked['events'] {
  return new SseDecoder().push(new TextEncoder().encode(text)).map(({ event, data }) => ({
    event,
    data: data === '[DONE]' ? data : JSON.parse(data),
  }))
}

/** Both ways into a stack, which need not run yet. */
export function entrancesOf(find: () => RunningStack): { proxy: Entrance; proxyless: Entrance } {
  return {
    proxy: new Entrance('proxy', () => ({
      url: find().proxyUrl,
      apiKey: undefined,
      ca: undefined,
    })),
    proxyless: new Entrance('proxyless endpoint', () => {
      const { proxylessUrl: url, apiKey, ca } = find()
      return { url, apiKey, ca }
    }),
  }
}
