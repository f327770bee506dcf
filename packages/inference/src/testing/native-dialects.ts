/** A scripted model server with native messages and responses, and requests for both. */
import type { Engine, JsonObject } from '../engine.ts'
import { connect as connectScripted, type Settings } from './connected-engine.ts'
import type { ScriptedServer, ScriptedServerOptions } from './scripted-server.ts'

export const connect = (
  options: ScriptedServerOptions = {},
  translateDialects = false,
  settings: Settings = {},
): Promise<{ server: ScriptedServer; engine: Engine }> =>
  connectScripted(
    { native: ['messages', 'responses'], ...options },
    { translateDialects, ...settings },
  )

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
