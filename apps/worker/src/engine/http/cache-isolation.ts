/** Proves that a server keeps the caches of different salts apart, before it gets a prompt. */
import { EngineError, type EngineUsage, type JsonObject } from '../engine.ts'
import type { Discovery } from './discover.ts'
import type { ServerClient } from './server-client.ts'
import { serverTraits } from './server-kinds.ts'
import { randomServerSalt } from './server-salt.ts'
import { readUsage } from './stream-counts.ts'

export type IsolationProof =
  /** Same salt hits, other salt misses. */
  | 'isolated'
  /** Another salt hits: the server ignores salts. */
  | 'shared'
  /** Nothing hits: there is no cache, or the server does not report hits. */
  | 'unseen'

/** Long enough for several cache blocks of any server. */
const probeWords = 400

/** The paths that prompts take: a server may honour salts on one and drop them on the other. */
const promptPaths: readonly (readonly [string, (prompt: string) => JsonObject])[] = [
  ['/v1/completions', (prompt) => ({ prompt })],
  ['/v1/chat/completions', (content) => ({ messages: [{ role: 'user', content }] })],
]

/** Three short calls on each path, with text that no one has asked before and no one will again. */
export async function proveIsolation(client: ServerClient, model: string): Promise<IsolationProof> {
  const proofs: IsolationProof[] = []
  for (const [path, bodyOf] of promptPaths) {
    const body = { model, max_tokens: 1, ...bodyOf(probePrompt()) }
    const proof = await proveOn(client, path, body, (answer) => readUsage(answer.usage))
    if (proof !== undefined) proofs.push(proof)
  }
  if (proofs.includes('shared')) return 'shared'
  return proofs.length > 0 && !proofs.includes('unseen') ? 'isolated' : 'unseen'
}

export function probePrompt(): string {
  const words = crypto.getRandomValues(new Uint16Array(probeWords))
  return Array.from(words, (word) => word.toString(36)).join(' ')
}

/** Undefined where the server refuses the path: then no prompt is answered there either. */
export async function proveOn(
  client: ServerClient,
  path: string,
  body: JsonObject,
  usageOf: (answer: JsonObject) => EngineUsage | undefined,
): Promise<IsolationProof | undefined> {
  const [salt, otherSalt] = [randomServerSalt(), randomServerSalt()]
  const ask = (cache_salt: string) => client.ask(path, { ...body, cache_salt })
  const cachedUnder = async (cache_salt: string) => {
    const answer = await ask(cache_salt)
    return (answer && usageOf(answer)?.cachedTokens) ?? 0
  }
  if ((await ask(salt)) === undefined) return undefined
  if ((await cachedUnder(otherSalt)) > 0) return 'shared'
  return (await cachedUnder(salt)) > 0 ? 'isolated' : 'unseen'
}

/**
 * Refuses a server that could let one caller's cache speed up another's request. An operator's
 * word overrides ignorance and known sharing alike; without it only proof or a trusted version do.
 */
export async function requireIsolation(
  client: ServerClient,
  found: Discovery,
  acceptSharedCache: boolean,
): Promise<IsolationProof | 'cache-off' | 'accepted'> {
  const traits = serverTraits[found.kind]
  if (traits.isolation === 'cache-off-per-request') return 'cache-off'
  if (acceptSharedCache) return 'accepted'
  if (traits.isolation === 'none') {
    throw refusal(`${found.kind} servers do not know cache salts`)
  }
  const generating = found.models.filter((model) => model.tasks.includes('generate'))
  const proofs = new Set<IsolationProof>()
  for (const model of generating) proofs.add(await proveIsolation(client, model.id))
  if (proofs.has('shared')) throw refusal('the server shares its cache between salts')
  const isProven = generating.length > 0 && !proofs.has('unseen')
  if (isProven) return 'isolated'
  if (isTrusted(found)) return 'unseen'
  throw refusal(`${found.kind} ${found.version ?? ''} is not known to keep salts apart`)
}

function isTrusted({ kind, version }: Discovery): boolean {
  const from = serverTraits[kind].trustedFrom
  const numbers = /^v?(\d+)\.(\d+)/.exec(version ?? '')
  if (from === undefined || numbers === null) return false
  const [major, minor] = [Number(numbers[1]), Number(numbers[2])]
  return major > from[0] || (major === from[0] && minor >= from[1])
}

function refusal(why: string): EngineError {
  const remedy = 'switch its prefix cache off and accept a shared cache, or use another server'
  return new EngineError('engine_unavailable', `the model server is refused: ${why}; ${remedy}`)
}
