/** Discovers the kind of server, its models and what they can do. */
import { createHash } from 'node:crypto'
import { EngineError, type EngineModel, type JsonObject } from '../engine.ts'
import type { HttpEngineSettings, ModelOverride, ServedModel, ServerKind } from './http-settings.ts'
import type { ServerClient } from './server-client.ts'
import { randomServerSalt } from './server-salt.ts'

export type Discovery = {
  readonly kind: ServerKind
  readonly version: string | undefined
  readonly models: readonly EngineModel[]
  /** The server was started without a prompt cache, by its own account. */
  readonly isCacheless?: boolean
}

const unknownContextLength = 4096

export async function discover(
  client: ServerClient,
  settings: HttpEngineSettings,
  now: () => Date,
): Promise<Discovery> {
  const list = await client.askFirst('/v1/models')
  const cards = Array.isArray(list.data) ? list.data.filter(isCard) : []
  if (cards.length === 0) {
    throw new EngineError('engine_unavailable', 'the model server lists no models at /v1/models')
  }
  if (settings.served !== undefined) requireListed(cards, settings.served)
  const { kind, version, isCacheless = false } = await identify(client, cards)
  const models = await Promise.all(
    cards.map(async (card) => {
      const reported = await describeModel(client, kind, card)
      return toModel(card, { ...reported, ...statedFacts(card.id, settings) }, now)
    }),
  )
  const working = models.filter((model) => model.tasks.length > 0)
  if (working.length === 0) {
    const names = cards.map(({ id }) => id).slice(0, 5)
    const message = `no model of the server answers chat, completions or embeddings: ${names.join(', ')}`
    throw new EngineError('engine_unavailable', message)
  }
  return { kind, version, models: working, isCacheless }
}

type Card = JsonObject & { id: string }

function isCard(value: unknown): value is Card {
  const id = (value as JsonObject | null)?.id
  return typeof id === 'string' && id !== '' && id.length <= 256
}

function statedFacts(id: string, { models, served }: HttpEngineSettings): ModelOverride {
  const bound = served?.find((model) => model.id === id)
  if (bound === undefined) return models[id] ?? {}
  const { path: _, verityRoot: digest, displayName, contextLength } = bound
  return {
    ...models[id],
    ...(digest !== undefined && { digest }),
    ...(displayName !== undefined && { displayName }),
    ...(contextLength !== undefined && { contextLength }),
  }
}

/** The weights behind any other model are unknown. */
function requireListed(cards: readonly Card[], listed: readonly ServedModel[]): void {
  const missing = listed.find(({ id }) => !cards.some((card) => card.id === id))
  const other = cards.find(({ id }) => !listed.some((one) => one.id === id))
  if (missing === undefined && other === undefined) return
  const detail =
    other === undefined
      ? `does not serve ${missing?.id}`
      : `serves ${other.id}, which is not listed`
  throw new EngineError('engine_unavailable', `the model server ${detail}`)
}

const rustFrontend = 'vllm-frontend-rs'

/** Servers name themselves as the owner of their models; the version needs a separate request. */
async function identify(
  client: ServerClient,
  cards: readonly Card[],
): Promise<Omit<Discovery, 'models'>> {
  const owner = cards[0]?.owned_by
  switch (owner) {
    // vLLM's second program for its API: its version says nothing about how it treats salts.
    case rustFrontend: {
      const version = text((await client.ask('/version'))?.rust_frontend_version)
      return { kind: 'vllm', version: `Rust frontend ${version ?? ''}`.trim() }
    }
    case 'vllm':
      return { kind: 'vllm', version: text((await client.ask('/version'))?.version) }
    case 'sglang': {
      const info = (await client.ask('/server_info')) ?? (await client.ask('/get_server_info'))
      const isCacheless = info?.disable_radix_cache === true
      return { kind: 'sglang', version: text(info?.version), isCacheless }
    }
    case 'llamacpp':
      return { kind: 'llama-server', version: text((await client.ask('/props'))?.build_info) }
  }
  const ollama = await client.ask('/api/version')
  if (ollama !== undefined) return { kind: 'ollama', version: text(ollama.version) }
  return { kind: 'generic', version: undefined }
}

async function describeModel(
  client: ServerClient,
  kind: ServerKind,
  card: Card,
): Promise<ModelOverride> {
  switch (kind) {
    case 'vllm':
      return {
        ...(await tryTasks(client, card.id)),
        // The Rust frontend counts no images that it knows: nothing shows that it keeps callers apart.
        vision: card.owned_by !== rustFrontend && (await takesImages(client, card.id)),
      }
    case 'sglang': {
      const info = (await client.ask('/model_info')) ?? (await client.ask('/get_model_info'))
      return tryTasks(client, card.id, sglangTasks(info?.is_generation))
    }
    case 'generic':
      return tryTasks(client, card.id)
    case 'llama-server': {
      const props = await client.ask('/props')
      const generation = props?.default_generation_settings as JsonObject | undefined
      const vision = (props?.modalities as JsonObject | undefined)?.vision === true
      const length = count(generation?.n_ctx)
      const tasks = await tryTasks(client, card.id)
      return { ...tasks, vision, ...(length === undefined ? {} : { contextLength: length }) }
    }
    case 'ollama':
      return describeOllama(await client.ask('/api/show', { model: card.id }))
  }
}

type Task = EngineModel['tasks'][number]
const allTasks: readonly Task[] = ['generate', 'embed']

/** Only what it was started for is tried: a chat ends an SGLang server that embeds. */
function sglangTasks(isGeneration: unknown): readonly Task[] {
  if (typeof isGeneration !== 'boolean') return allTasks
  return [isGeneration ? 'generate' : 'embed']
}

/** A model's tasks are found by trying: no two servers report them in the same way. */
async function tryTasks(
  client: ServerClient,
  model: string,
  tried: readonly Task[] = allTasks,
): Promise<ModelOverride> {
  const asked = { model, cache_salt: randomServerSalt() }
  // One at a time and chat first: single-token prompts have crashed engines that had just started.
  const takes: Readonly<Record<Task, () => Promise<boolean>>> = {
    generate: async () => (await takesChat(client, asked)) || (await takesText(client, asked)),
    embed: () => takesInput(client, asked),
  }
  const tasks: Task[] = []
  for (const task of tried) if (await takes[task]()) tasks.push(task)
  return { tasks }
}

const greeting = 'Hello! Please answer with one word.'
const answerTokens = 8

async function takesChat(client: ServerClient, asked: JsonObject): Promise<boolean> {
  const messages = [{ role: 'user', content: greeting }]
  const body = { ...asked, messages, max_tokens: answerTokens }
  return Array.isArray((await client.ask('/v1/chat/completions', body))?.choices)
}

/** Models without a chat template accept plain text only. */
async function takesText(client: ServerClient, asked: JsonObject): Promise<boolean> {
  const body = { ...asked, prompt: greeting, max_tokens: answerTokens }
  return Array.isArray((await client.ask('/v1/completions', body))?.choices)
}

async function takesInput(client: ServerClient, asked: JsonObject): Promise<boolean> {
  const embedded = await client.ask('/v1/embeddings', { ...asked, input: greeting })
  return Array.isArray(embedded?.data)
}

/**
 * One white pixel: the tokenizer of a model without vision refuses it, and nothing is generated. It
 * has a name as all images do, so one that accepts none gets no images.
 */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=='

async function takesImages(client: ServerClient, model: string): Promise<boolean> {
  const content = [{ type: 'image_url', image_url: { url: pixel }, uuid: 'pixel' }]
  const answer = await client.ask('/tokenize', { model, messages: [{ role: 'user', content }] })
  return count(answer?.count) !== undefined
}

function describeOllama(shown: JsonObject | undefined): ModelOverride {
  const can = Array.isArray(shown?.capabilities) ? shown.capabilities : ['completion']
  const info = (shown?.model_info ?? {}) as JsonObject
  const length = Object.entries(info).find(([name]) => name.endsWith('.context_length'))?.[1]
  const contextLength = count(length)
  return {
    tasks: [
      ...(can.includes('completion') ? (['generate'] as const) : []),
      ...(can.includes('embedding') ? (['embed'] as const) : []),
    ],
    vision: can.includes('vision'),
    ...(contextLength === undefined ? {} : { contextLength }),
  }
}

function toModel(card: Card, facts: ModelOverride, now: () => Date): EngineModel {
  const meta = card.meta as JsonObject | undefined
  return {
    id: card.id,
    tasks: facts.tasks ?? [],
    digest: facts.digest ?? namedDigest(text(card.root) ?? card.id),
    contextLength:
      facts.contextLength ??
      count(card.max_model_len) ??
      count(meta?.n_ctx_train) ??
      unknownContextLength,
    displayName: facts.displayName ?? card.id,
    created: count(card.created) ?? Math.floor(now().getTime() / 1000),
    vision: facts.vision ?? false,
  }
}

/** A server does not expose its weights: without a digest from the operator only their name is bound. */
function namedDigest(name: string): string {
  return createHash('sha256').update(`privatemode/v1/named-weights\0${name}`).digest('hex')
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 64) : undefined
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
