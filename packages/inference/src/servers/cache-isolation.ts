/** Proves that a server isolates the caches of different salts, before it gets a prompt. */
import {
  type EngineEndpoint,
  EngineError,
  type EngineModel,
  type EngineUsage,
  type JsonObject,
  type PathIsolation,
} from '../engine.ts'
import type { Discovery } from './discover.ts'
import type { ServerClient } from './server-client.ts'
import { serverTraits } from './server-kinds.ts'
import { randomServerSalt } from './server-salt.ts'
import { readUsage } from './stream-counts.ts'

export type IsolationProof =
  /** The same salt hits, another salt misses. */
  | 'isolated'
  /** Another salt hits: the server ignores salts. */
  | 'shared'
  /** Nothing hits: there is no cache, or the server does not report hits. */
  | 'unseen'
  /** A probe was refused or reported no usage: nothing is proven. */
  | 'refused'
  /** The server does not have this path. */
  | 'absent'

/** Long enough for several cache blocks of any server, if the context allows it. */
const maxProbeWords = 400
const minProbeWords = 16
/** In the worst case, a word of up to four characters is one token per character, plus one for its space. */
const tokensPerWord = 5

/** The paths that prompts take: a server may honour salts on one and ignore them on the other. */
const promptPaths: readonly (readonly [EngineEndpoint, string, (prompt: string) => JsonObject])[] =
  [
    ['chat', '/v1/chat/completions', (content) => ({ messages: [{ role: 'user', content }] })],
    ['completions', '/v1/completions', (prompt) => ({ prompt })],
  ]

/** Text that was never sent before and never will be again; it uses at most half of the context. */
export function probePrompt({ contextLength }: Pick<EngineModel, 'contextLength'>): string {
  const room = Math.floor(contextLength / 2 / tokensPerWord)
  const count = Math.min(maxProbeWords, Math.max(minProbeWords, room))
  const words = crypto.getRandomValues(new Uint16Array(count))
  return Array.from(words, (word) => word.toString(36)).join(' ')
}

/** Three short calls: with one salt, with another, and with the first again. */
export async function proveOn(
  client: ServerClient,
  path: string,
  body: JsonObject,
  usageOf: (answer: JsonObject) => EngineUsage | undefined,
): Promise<IsolationProof> {
  const [salt, otherSalt] = [randomServerSalt(), randomServerSalt()]
  const probe = async (cache_salt: string) => {
    const { status, answer } = await client.probe(path, { ...body, cache_salt })
    return { status, usage: answer && usageOf(answer) }
  }
  const first = await probe(salt)
  if (first.status === 404 || first.status === 405 || first.status === 501) return 'absent'
  const other = await probe(otherSalt)
  const again = await probe(salt)
  // A refusal reports no hit either: it must not pass for an isolated cache.
  if (first.usage === undefined || other.usage === undefined || again.usage === undefined)
    return 'refused'
  if (hasHit(other.usage)) return 'shared'
  return hasHit(again.usage) ? 'isolated' : 'unseen'
}

const hasHit = ({ cachedTokens = 0 }: EngineUsage) => cachedTokens > 0

/**
 * How each path of each model isolates callers. Throws if a server could let one caller's cache
 * speed up another's request. The operator can override that; otherwise only proof or a trusted
 * version counts, and a path with neither is not used.
 */
export async function requireIsolation(
  client: ServerClient,
  found: Discovery,
  acceptSharedCache: boolean,
): Promise<PathIsolation[]> {
  const traits = serverTraits[found.kind]
  if (traits.isolation === 'cache-off-per-request')
    return everyPath(found, 'cache-off', 'every request tells the server not to use its cache')
  if (found.isCacheless === true)
    return everyPath(found, 'cache-off', 'the server was started without a prompt cache')
  if (acceptSharedCache)
    return everyPath(found, 'accepted', 'the operator accepts a cache that callers share')
  if (traits.isolation === 'none') {
    throw refusal(`${found.kind} servers do not support cache salts`)
  }
  const paths: PathIsolation[] = []
  for (const model of found.models) paths.push(...(await judgeModel(client, found, model)))
  if (paths.every(({ state }) => state === 'unused')) {
    const [why] = paths.filter((one) => one.detail !== absent).map(({ detail }) => detail)
    throw refusal(
      `${found.kind} ${found.version ?? ''} is not known to isolate salts (${why ?? absent})`,
      why === unseen ? traits.howToProve : undefined,
    )
  }
  return paths
}

async function judgeModel(
  client: ServerClient,
  found: Discovery,
  model: EngineModel,
): Promise<PathIsolation[]> {
  const paths: PathIsolation[] = []
  const add = (endpoint: EngineEndpoint, { state, detail }: Judgement) =>
    paths.push({ model: model.id, endpoint, state, detail })
  if (model.tasks.includes('generate')) {
    for (const [endpoint, path, bodyOf] of promptPaths) {
      const body = { model: model.id, max_tokens: 1, ...bodyOf(probePrompt(model)) }
      const proof = await proveOn(client, path, body, (answer) => readUsage(answer.usage))
      if (proof === 'shared') throw refusal(`the server shares its cache between salts at ${path}`)
      add(endpoint, judge(proof, isTrusted(found)))
    }
  }
  // Servers report no hits for embeddings, so nothing can be proven there.
  if (model.tasks.includes('embed')) add('embeddings', judge('unseen', isTrusted(found)))
  return paths
}

export type Judgement = Pick<PathIsolation, 'state' | 'detail'>

const absent = 'the server does not have this path'
const unseen = 'the server reports no hits'

/** What a proof means for the use of a path. */
export function judge(proof: Exclude<IsolationProof, 'shared'>, trusted: boolean): Judgement {
  switch (proof) {
    case 'isolated':
      return { state: 'proven', detail: 'the same salt hits, another one misses' }
    case 'absent':
      return { state: 'unused', detail: absent }
    case 'unseen':
      return unproven(unseen, trusted)
    case 'refused':
      return unproven('the server refused a probe', trusted)
  }
}

function unproven(why: string, trusted: boolean): Judgement {
  return trusted
    ? { state: 'trusted', detail: `${why}; its version is known to isolate salts` }
    : { state: 'unused', detail: why }
}

const taskPaths = { generate: ['chat', 'completions'], embed: ['embeddings'] } as const

function everyPath(
  { models }: Discovery,
  state: PathIsolation['state'],
  detail: string,
): PathIsolation[] {
  return models.flatMap(({ id, tasks }) =>
    tasks.flatMap((task) =>
      taskPaths[task].map((endpoint) => ({ model: id, endpoint, state, detail })),
    ),
  )
}

function isTrusted({ kind, version }: Discovery): boolean {
  const from = serverTraits[kind].trustedFrom
  const numbers = /^v?(\d+)\.(\d+)/.exec(version ?? '')
  if (from === undefined || numbers === null) return false
  const [major, minor] = [Number(numbers[1]), Number(numbers[2])]
  return major > from[0] || (major === from[0] && minor >= from[1])
}

function refusal(why: string, howToProve?: string): EngineError {
  const others = 'switch its prefix cache off and accept a shared cache, or use another server'
  const remedy = howToProve === undefined ? others : `${howToProve}, ${others}`
  return new EngineError('engine_unavailable', `the model server is refused: ${why}; ${remedy}`)
}
