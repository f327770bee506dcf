/**
 * Scripted model servers, engines that use them, and calls; servers and engines are closed after
 * the test.
 */
import { afterEach } from 'bun:test'
import type { Engine, EngineCall, JsonObject } from '../engine.ts'
import { connectHttpEngine, type HttpEngineParts } from '../servers/http-engine.ts'
import type { HttpEngineSettings } from '../servers/http-settings.ts'
import {
  type ScriptedServer,
  type ScriptedServerOptions,
  startScriptedServer,
} from './scripted-server.ts'

export type Settings = Partial<HttpEngineSettings>

const closing: (() => Promise<unknown>)[] = []
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
}

export function serve(options: ScriptedServerOptions = {}): ScriptedServer {
  const server = startScriptedServer(options)
  closing.push(() => server.stop())
  return server
}

export async function connectTo(
  baseUrl: string,
  settings: Settings = {},
  parts?: HttpEngineParts,
): Promise<Engine> {
  // On a busy machine, a scripted server may take longer than real ones are given.
  const engine = await connectHttpEngine({ baseUrl, probeTimeoutMs: 120_000, ...settings }, parts)
  closing.push(() => engine.close())
  return engine
}

export async function connect(
  options: ScriptedServerOptions = {},
  settings: Settings = {},
): Promise<{ server: ScriptedServer; engine: Engine }> {
  const server = serve(options)
  const engine = await connectTo(server.url, settings)
  server.requests.length = 0 // requests made during discovery are covered by other tests
  return { server, engine }
}

export const chat = (content: string, fields: JsonObject = {}): JsonObject => ({
  model: 'scripted',
  messages: [{ role: 'user', content }],
  cache_salt: 's'.repeat(44),
  ...fields,
})

export const callOf = (body: JsonObject, fields: Partial<EngineCall> = {}): EngineCall => ({
  endpoint: 'chat',
  body,
  stream: false,
  signal: new AbortController().signal,
  ...fields,
})

export async function streamed(engine: Engine, call: EngineCall): Promise<JsonObject[]> {
  const answer = await engine.call({ ...call, stream: true })
  if (answer.kind !== 'stream') throw new Error('not streamed')
  const chunks: JsonObject[] = []
  for await (const chunk of answer.chunks) chunks.push(chunk)
  return chunks
}
