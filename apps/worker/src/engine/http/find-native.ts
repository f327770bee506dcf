/** Finds the endpoints of other dialects that a server has and may be asked at. */
import type { JsonObject, NativeEndpoint } from '../engine.ts'
import { probePrompt, proveOn } from './cache-isolation.ts'
import type { Discovery } from './discover.ts'
import { countPath, nativePaths, readNativeUsage } from './native-endpoints.ts'
import type { ServerClient } from './server-client.ts'
import { serverTraits } from './server-kinds.ts'
import { randomServerSalt } from './server-salt.ts'

/** The models that each endpoint may be asked for. */
export type NativeModels = Readonly<Record<NativeEndpoint, ReadonlySet<string>>>

const probes: Readonly<Record<NativeEndpoint, (prompt: string) => JsonObject>> = {
  messages: (content) => ({ max_tokens: 1, messages: [{ role: 'user', content }] }),
  responses: (input) => ({ max_output_tokens: 16, input, store: false }),
}

/**
 * A version is never believed here: what is not proven is translated, which costs nothing but a
 * detour. Servers dropped salts on these paths for long after they honoured them in chat.
 */
export async function findNative(client: ServerClient, found: Discovery): Promise<NativeModels> {
  const native = { messages: new Set<string>(), responses: new Set<string>() }
  if (serverTraits[found.kind].isolation !== 'by-salt') return native
  for (const { id, tasks } of found.models) {
    if (!tasks.includes('generate')) continue
    if ((await isProven(client, 'messages', id)) && (await countsMessages(client, id)))
      native.messages.add(id)
    if (await isProven(client, 'responses', id)) native.responses.add(id)
  }
  return native
}

async function isProven(
  client: ServerClient,
  endpoint: NativeEndpoint,
  model: string,
): Promise<boolean> {
  const body = { model, ...probes[endpoint](probePrompt()) }
  const usageOf = (answer: JsonObject) => readNativeUsage(endpoint, answer)
  const proof = await proveOn(client, nativePaths[endpoint], body, usageOf)
  return proof === 'isolated'
}

/** Counting must tell what the message then costs, or callers are told another price. */
async function countsMessages(client: ServerClient, model: string): Promise<boolean> {
  const { max_tokens, ...question } = probes.messages(probePrompt())
  const asked = { model, ...question, cache_salt: randomServerSalt() }
  const counted = await client.ask(countPath, asked)
  const answer = await client.ask(nativePaths.messages, { ...asked, max_tokens })
  const cost = answer && readNativeUsage('messages', answer)?.promptTokens
  return cost !== undefined && counted?.input_tokens === cost
}
