/** A whole system behind a hostile gateway, and clients that must detect its attacks. */
import type { PrivateClient } from '@privatemode/sdk'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { type HostileGateway, startHostileGateway } from './hostile-gateway.ts'

export type HostileWorld = {
  readonly system: System
  readonly gateway: HostileGateway
  readonly engines: readonly ScriptedEngine[]
  newClient(over?: object): PrivateClient
  /** A client that has already verified the workers; the attack happens on its next call. */
  warmClient(over?: object): Promise<PrivateClient>
  ask(client: PrivateClient, stream?: boolean): Promise<string>
  stop(): Promise<void>
}

export async function startHostileWorld(): Promise<HostileWorld> {
  const deltas = ['Once ', 'upon ', 'a time'].map((content) => ({ content }))
  const engines = [new ScriptedEngine({ deltas }), new ScriptedEngine({ deltas })]
  const system = await startSystem({ engines })
  const gateway = startHostileGateway(system.gatewayUrl)
  const newClient = (over = {}) =>
    system.client({ endpoint: gateway.url, retryBudgetMs: 0, ...over })
  const ask = async (client: PrivateClient, stream = true) => {
    const answer = await client.exchange({
      path: '/v1/chat/completions',
      model: 'org/chat-1',
      body: requestBody(stream),
      stream,
      apiKey: system.apiKey,
    })
    return new TextDecoder().decode(await answer.whole())
  }
  return {
    system,
    gateway,
    engines,
    newClient,
    ask,
    async warmClient(over = {}) {
      const client = newClient(over)
      if (!(await ask(client)).includes('time')) throw new Error('no answer before the trick')
      return client
    },
    async stop() {
      await gateway.stop()
      await system.stop()
    },
  }
}

const requestBody = (stream: boolean) =>
  new TextEncoder().encode(
    JSON.stringify({ model: 'org/chat-1', messages: [{ role: 'user', content: 'hi' }], stream }),
  )

export const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: { code?: string }) => error.code ?? String(error),
  )

export const collect = async (response: Response) => new Uint8Array(await response.arrayBuffer())

export const respond = (bytes: Uint8Array<ArrayBuffer> | string | ReadableStream) =>
  new Response(bytes, { headers: { 'content-type': 'application/privatemode-sealed' } })
