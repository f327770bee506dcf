/** A scripted model server with messages and responses of its own, and requests for both. */
import { afterEach, expect } from 'bun:test'
import type { Engine, JsonObject } from '../engine/engine.ts'
import { connectHttpEngine } from '../engine/http/http-engine.ts'
import type { HttpEngineSettings } from '../engine/http/http-settings.ts'
import {
  type ScriptedServer,
  type ScriptedServerOptions,
  startScriptedServer,
} from './scripted-server.ts'

const closing: (() => Promise<unknown>)[] = []
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
}

export async function connect(
  options: ScriptedServerOptions = {},
  translateDialects = false,
  settings: Partial<HttpEngineSettings> = {},
): Promise<{ server: ScriptedServer; engine: Engine }> {
  const server = startScriptedServer({ native: ['messages', 'responses'], ...options })
  closing.push(() => server.stop())
  const engine = await connectHttpEngine({ baseUrl: server.url, translateDialects, ...settings })
  closing.push(() => engine.close())
  server.requests.length = 0 // what was asked while it was looked at is another test's matter
  return { server, engine }
}

export const model = 'scripted'
export const longText = Array.from({ length: 100 }, (_, i) => `w${i}`).join(' ')

export const message = (content: unknown, fields: JsonObject = {}): JsonObject => ({
  ...{ model, max_tokens: 50, messages: [{ role: 'user', content }] },
  ...fields,
})
export const response = (input: unknown, fields: JsonObject = {}): JsonObject => ({
  ...{ model, input },
  ...fields,
})
export const dialects = [
  ['/v1/messages', message],
  ['/v1/responses', response],
] as const

export async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !isTrue(); i++) await Bun.sleep(5)
  expect(isTrue()).toBe(true)
}
