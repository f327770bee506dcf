/** A test system whose engine does what a test says, and the ways in which tests talk to a proxy. */
import { connect } from 'node:net'
import type { EngineCall } from '../../packages/inference/src/engine.ts'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { type System, type SystemOptions, startSystem } from '../e2e/system.ts'
import { type ProxyProcess, startProxy } from './proxy-process.ts'

export type Hooks = {
  /** Runs before the engine answers. */
  before: ((call: EngineCall) => void | Promise<void>) | undefined
  beforeChunk: ((index: number, call: EngineCall) => void | Promise<void>) | undefined
}

export type ScriptedSystem = {
  readonly system: System
  readonly engine: ScriptedEngine
  readonly hooks: Hooks
}

/** The one answer of the engine. */
export const story = 'Once upon a time'

export async function startScriptedSystem(
  options: Pick<SystemOptions, 'tapWorker' | 'shapeOf'> = {},
): Promise<ScriptedSystem> {
  const hooks: Hooks = { before: undefined, beforeChunk: undefined }
  const engine = new ScriptedEngine({
    deltas: ['Once ', 'upon ', 'a time'].map((content) => ({ content })),
    before: (call) => hooks.before?.(call),
    beforeChunk: (index, call) => hooks.beforeChunk?.(index, call),
  })
  return { system: await startSystem({ ...options, engines: [engine] }), engine, hooks }
}

export const chatPath = '/v1/chat/completions'
/** Stands in every prompt, so that it can be looked for where it must not be. */
export const canary = 'canary-7f3a9'

export const chat = (over: object = {}): string =>
  JSON.stringify({ model: 'org/chat-1', messages: [{ role: 'user', content: canary }], ...over })

export function post(
  proxy: Pick<ProxyProcess, 'url'>,
  path: string,
  body: RequestInit['body'],
  headers: Readonly<Record<string, string>> = {},
  init: BunFetchRequestInit = {},
): Promise<Response> {
  const type = { 'content-type': 'application/json' }
  const whole = { method: 'POST', body: body ?? null, headers: { ...type, ...headers }, ...init }
  return fetch(proxy.url + path, whole)
}

type ErrorBody = { error: { code?: string; type: string; message: string }; request_id?: string }
export const errorOf = async (response: Response) => (await response.json()) as ErrorBody

/** What most tests of answers run on: the proxy's own key, metrics, a small body limit, all log lines. */
export function startKeyedProxy({ system }: ScriptedSystem): Promise<ProxyProcess> {
  const args = ['--apiKey', system.apiKey, '--metrics', '--bodyLimitMib', '1', '-l', 'debug']
  return startProxy(system, { args })
}

/** Speaks HTTP by hand; `reply` may answer what came so far. Resolves with the first whole response. */
export function rawExchange(
  port: number,
  request: string,
  reply?: (text: string) => string | Uint8Array | undefined,
): Promise<string> {
  const done = Promise.withResolvers<string>()
  let text = ''
  let replied = false
  const socket = connect(port, '127.0.0.1', () => void socket.write(request))
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    const answer = replied ? undefined : reply?.(text)
    if (answer !== undefined) {
      replied = true
      socket.write(answer)
    } else if (/^HTTP\/1\.1 [2-5]\d\d/m.test(text) && /[}>]\s*$/.test(text)) {
      socket.destroy()
      done.resolve(text)
    }
  })
  socket.on('close', () => done.resolve(text))
  socket.on('error', done.reject)
  return done.promise
}
