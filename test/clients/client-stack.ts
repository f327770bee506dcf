/** The running stack that clients are tested against, and the two ways into it. */
import { describe } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Recorded,
  type ScriptedServer,
  type ScriptedServerOptions,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import { type Entrance, entrancesOf } from './entrance.ts'

/** How long a loaded machine may take to start everything. */
export const startLimitMs = 150_000

export type MeteredRequest = {
  readonly request_id: string
  readonly outcome: string
  readonly prompt_tokens: number
  readonly cached_tokens: number
  readonly completion_tokens: number
}
type MeteredPage = { readonly requests: MeteredRequest[]; readonly next: string | null }

export class ClientStack {
  readonly #entrances = entrancesOf(() => this.stack)
  readonly proxy = this.#entrances.proxy
  readonly proxyless = this.#entrances.proxyless
  readonly #server: ScriptedServerOptions
  #running: { stack: RunningStack; server: ScriptedServer } | undefined

  constructor(server: ScriptedServerOptions = {}) {
    this.#server = server
  }

  get stack(): RunningStack {
    return this.#required().stack
  }

  get server(): ScriptedServer {
    return this.#required().server
  }

  async start(): Promise<void> {
    const server = startScriptedServer(this.#server)
    try {
      // Shaped streams of plain HTTPS clients end with their padding; `test/shape` tries those.
      const args = ['--engineUrl', server.url, '--trafficShape', 'off']
      this.#running = { server, stack: await runStack(args) }
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#running?.stack.stop()
    await this.#running?.server.stop()
  }

  /** The last request that reached the model server with this text in it. */
  seen(text: string): Recorded | undefined {
    return this.server.requests.findLast(({ body }) => JSON.stringify(body).includes(text))
  }

  /** Makes an API key as the operator does. */
  async createKey(name: string, limits: object | null = null): Promise<string> {
    const made = await this.#administer('keys', { name, limits })
    return (made as { secret: string }).secret
  }

  /** What the gateway has metered, once it knows of the request. */
  async metered(requestId: string): Promise<MeteredRequest> {
    const from = new Date(Date.now() - 3_600_000).toISOString()
    const query = `usage/requests?from=${from}&to=${new Date(Date.now() + 3_600_000).toISOString()}&limit=1000`
    for (let wait = 0; wait < 600; wait++) {
      let page = `${query}`
      for (;;) {
        const { requests, next } = (await this.#administer(page)) as MeteredPage
        const found = requests.find((one) => one.request_id === requestId)
        if (found !== undefined) return found
        if (next === null) break
        page = `${query}&after=${next}`
      }
      await Bun.sleep(50) // workers gather reports for a moment
    }
    throw new Error(`request ${requestId} was never metered`)
  }

  async #administer(path: string, body?: object): Promise<unknown> {
    const token = readFileSync(join(this.stack.home, 'keys', 'admin-token'), 'utf8')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const posted = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const url = `${this.stack.gatewayUrl}/privatemode/v1/admin/${path}`
    return (await fetch(url, { headers, ...posted })).json()
  }

  #required() {
    if (this.#running === undefined) throw new Error('the stack is not running')
    return this.#running
  }
}

/** Defines the same tests for the proxy and for the proxyless endpoint. */
export function throughBoth(
  title: string,
  { proxy, proxyless }: Pick<ClientStack, 'proxy' | 'proxyless'>,
  define: (entrance: Entrance) => void,
): void {
  for (const entrance of [proxy, proxyless]) {
    describe(`${title}, ${entrance.name}`, () => define(entrance))
  }
}

export const model = 'scripted'
export const visionModel = 'scripted/eyes'
export const embedModel = 'scripted-embed'
export const chatPath = '/v1/chat/completions'
export const messagesPath = '/v1/messages'

/** The body of a chat in which the user says one thing. */
export const chat = (content: string, fields: object = {}) => ({
  model,
  messages: [{ role: 'user' as const, content }],
  ...fields,
})

export const message = (content: string, fields: object = {}) => ({
  ...chat(content),
  max_tokens: 200,
  ...fields,
})

export const saltOf = (letter: string) => letter.repeat(44)

/** So many words that no one has said before. */
export function freshWords(count: number): string {
  const numbers = crypto.getRandomValues(new Uint32Array(count))
  return Array.from(numbers, (number) => number.toString(36)).join(' ')
}
