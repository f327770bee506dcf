/** The small story model for tests, fetched once into a cache that all tests share. */
import { join } from 'node:path'
import { ensureModel, type ModelName } from '@privatemode/stack/models'
import { getLlama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp'
import type {
  Engine,
  EngineEndpoint,
  EngineUsage,
  JsonObject,
} from '../packages/inference/src/engine.ts'
import { createEmbeddedEngine } from '../packages/inference/src/llama/embedded-engine.ts'
import type {
  EmbeddedEngineOptions,
  EmbeddedModelOptions,
} from '../packages/inference/src/llama/engine-options.ts'

const root = join(import.meta.dir, '..')
const cacheDir =
  process.env.PRIVATEMODE_TEST_CACHE ?? join(root, 'node_modules/.cache/privatemode-models')

export async function modelPath(name: ModelName): Promise<string> {
  return (await ensureModel(name, { cacheDir })).path
}

/** The model alone, for tests of what stands on the library directly. */
export async function loadStories(): Promise<LlamaModel> {
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    logLevel: LlamaLogLevel.disabled,
    maxThreads: 1,
  })
  return await llama.loadModel({ modelPath: await modelPath('stories15m') })
}

/** One thread: the machine that runs tests is busy, and threads that wait for each other are slow then. */
export async function storyEngine(
  model: Partial<EmbeddedModelOptions> = {},
  options: Partial<EmbeddedEngineOptions> = {},
): Promise<Engine> {
  const path = await modelPath('stories15m')
  const models = [{ path, id: 'stories', task: 'generate' as const, ...model }]
  return await createEmbeddedEngine({ threads: 1, models, ...options })
}

export type Asked = {
  readonly body: Answer
  readonly usage: EngineUsage | undefined
}

/** An answer as tests read it: the shape is theirs to check. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Answer = any

export type AskOptions = {
  readonly signal?: AbortSignal
  readonly keepPrefix?: boolean
  readonly onUsage?: (usage: EngineUsage) => void
}

const callOf = (endpoint: EngineEndpoint, body: JsonObject, options: AskOptions) => ({
  endpoint,
  body: { model: 'stories', temperature: 0, cache_salt: crypto.randomUUID(), ...body },
  signal: options.signal ?? new AbortController().signal,
  ...(options.keepPrefix === undefined ? {} : { keepPrefix: options.keepPrefix }),
  ...(options.onUsage === undefined ? {} : { onUsage: options.onUsage }),
})

/** A whole answer; without a salt of its own, each call shares nothing. */
export async function ask(
  engine: Engine,
  endpoint: EngineEndpoint,
  body: JsonObject,
  options: AskOptions = {},
): Promise<Answer> {
  const answer = await engine.call({ ...callOf(endpoint, body, options), stream: false })
  if (answer.kind !== 'complete') throw new Error('expected a whole answer')
  return answer.body
}

export async function askStream(
  engine: Engine,
  endpoint: EngineEndpoint,
  body: JsonObject,
  options: AskOptions = {},
): Promise<AsyncIterable<Answer>> {
  const answer = await engine.call({ ...callOf(endpoint, body, options), stream: true })
  if (answer.kind !== 'stream') throw new Error('expected a stream')
  return answer.chunks
}

export async function collect(chunks: AsyncIterable<Answer>): Promise<Answer[]> {
  const all: Answer[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}
