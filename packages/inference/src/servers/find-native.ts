/** Finds the native endpoints of other dialects that a server has and that may be used. */
import type { EngineModel, JsonObject, NativeEndpoint, PathIsolation } from '../engine.ts'
import { type Judgement, judge, probePrompt, proveOn } from './cache-isolation.ts'
import type { Discovery } from './discover.ts'
import { countPath, nativePaths, readNativeUsage } from './native-endpoints.ts'
import type { ServerClient } from './server-client.ts'
import { serverTraits } from './server-kinds.ts'
import { randomServerSalt } from './server-salt.ts'

const probes: Readonly<Record<NativeEndpoint, (prompt: string) => JsonObject>> = {
  messages: (content) => ({ max_tokens: 1, messages: [{ role: 'user', content }] }),
  responses: (input) => ({ max_output_tokens: 16, input, store: false }),
}

const translated = 'always translated to chat'

/**
 * A version is never trusted here: anything unproven is translated, which costs only a detour.
 * Servers ignored salts on these paths long after they honoured them in chat.
 */
export async function findNative(
  client: ServerClient,
  found: Discovery,
  translateDialects: boolean,
): Promise<PathIsolation[]> {
  const isTried = serverTraits[found.kind].isolation === 'by-salt' && !translateDialects
  const paths: PathIsolation[] = []
  for (const model of found.models) {
    if (!model.tasks.includes('generate')) continue
    for (const endpoint of ['messages', 'responses'] as const) {
      const judged: Judgement = isTried
        ? await judgeNative(client, endpoint, model)
        : { state: 'unused', detail: translated }
      paths.push({ model: model.id, endpoint, ...judged })
    }
  }
  return paths
}

async function judgeNative(
  client: ServerClient,
  endpoint: NativeEndpoint,
  model: EngineModel,
): Promise<Judgement> {
  const body = { model: model.id, ...probes[endpoint](probePrompt(model)) }
  const usageOf = (answer: JsonObject) => readNativeUsage(endpoint, answer)
  const proof = await proveOn(client, nativePaths[endpoint], body, usageOf)
  if (proof === 'shared')
    return { state: 'unused', detail: 'the server shares its cache between salts here' }
  const judged = judge(proof, false)
  if (judged.state !== 'proven' || endpoint === 'responses') return judged
  if (await countsMessages(client, model)) return judged
  return { state: 'unused', detail: 'the server counts messages wrongly' }
}

/** The count must match what the message then costs, or callers would see a different price. */
async function countsMessages(client: ServerClient, model: EngineModel): Promise<boolean> {
  const { max_tokens, ...question } = probes.messages(probePrompt(model))
  const asked = { model: model.id, ...question, cache_salt: randomServerSalt() }
  const counted = await client.ask(countPath, asked)
  const answer = await client.ask(nativePaths.messages, { ...asked, max_tokens })
  const cost = answer && readNativeUsage('messages', answer)?.promptTokens
  return cost !== undefined && counted?.input_tokens === cost
}
