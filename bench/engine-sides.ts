/** The two sides of `bench/engine.ts`: the bare library, and our engine over it, doing the same work. */
import { join } from 'node:path'
import { ensureModel } from '@privatemode/stack/models'
import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp'
import type { Engine, JsonObject } from '../packages/inference/src/engine.ts'
import { createEmbeddedEngine } from '../packages/inference/src/llama/embedded-engine.ts'

export type BenchSetting = {
  readonly isQuick: boolean
  readonly threads: number
}

export type Side = {
  /** This many concurrent streams, each of `tokensEach` tokens. */
  generate(streams: number): Promise<void>
  /** Embeds `texts`, one after the other. */
  embed(): Promise<void>
}

export const sequences = 4
const cacheDir = join(import.meta.dir, '../node_modules/.cache/privatemode-models')
const prompt = 'Once upon a time, in a village by the sea, there lived'
export const texts = Array.from(
  { length: 100 },
  (_, at) => `Sentence number ${at} tells of ${at % 7} boats and a long way home.`,
)

export const chatName = ({ isQuick }: BenchSetting) =>
  isQuick ? 'stories15m' : 'tinyllama-1.1b-chat'
export const tokensEach = ({ isQuick }: BenchSetting) => (isQuick ? 100 : 24)
const contextOf = ({ isQuick }: BenchSetting) => (isQuick ? 256 : 2048)

async function paths(setting: BenchSetting): Promise<{ chat: string; embed: string }> {
  const chat = await ensureModel(chatName(setting), { cacheDir })
  const embed = await ensureModel('all-minilm-l6-v2', { cacheDir })
  return { chat: chat.path, embed: embed.path }
}

export async function openBare(setting: BenchSetting): Promise<Side> {
  const { threads } = setting
  const path = await paths(setting)
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    logLevel: LlamaLogLevel.disabled,
    maxThreads: threads,
  })
  const model = await llama.loadModel({ modelPath: path.chat })
  const contextSize = contextOf(setting)
  const context = await model.createContext({ contextSize, sequences, threads })
  const streams = Array.from({ length: sequences }, () => context.getSequence())
  const embedModel = await llama.loadModel({ modelPath: path.embed })
  const size = { contextSize: 512, batchSize: 512 }
  const embedder = await embedModel.createEmbeddingContext({ ...size, threads })
  const tokens = model.tokenize(prompt)
  const start = model.tokens.bos === null ? tokens : [model.tokens.bos, ...tokens]
  const run = async (sequence: (typeof streams)[number]): Promise<void> => {
    await sequence.clearHistory()
    let said = 0
    const options = { temperature: 0, yieldEogToken: true } as const
    for await (const _ of sequence.evaluate(start as Token[], options))
      if (++said === tokensEach(setting)) break
  }
  return {
    generate: async (count) => void (await Promise.all(streams.slice(0, count).map(run))),
    embed: async () => {
      for (const text of texts) await embedder.getEmbeddingFor(text)
    },
  }
}

export type EngineSide = Side & {
  /** Ends when the first token has arrived; returns the tokens of the prompt. */
  firstToken(prompt: string, salt: string): Promise<number>
}

export async function openEngine(setting: BenchSetting): Promise<EngineSide> {
  const { threads } = setting
  const path = await paths(setting)
  const contextLength = contextOf(setting)
  const engine = await createEmbeddedEngine({
    threads,
    models: [
      { path: path.chat, id: 'chat', task: 'generate', contextLength, sequences },
      { path: path.embed, id: 'embed', task: 'embed' },
    ],
  })
  const asked = { prompt, max_tokens: tokensEach(setting), ignore_eos: true, temperature: 0 }
  const { signal } = new AbortController()
  return {
    async generate(count) {
      // As the worker calls it for requests without a salt.
      await Promise.all(Array.from({ length: count }, () => read(engine, asked, false)))
    },
    async embed() {
      for (const input of texts) {
        const body = { model: 'embed', input }
        await engine.call({ endpoint: 'embeddings', body, stream: false, signal })
      }
    },
    async firstToken(long, salt) {
      const body = { prompt: long, max_tokens: 1, temperature: 0, cache_salt: salt.padEnd(32, '-') }
      return Number((await read(engine, body, true)).prompt_tokens)
    },
  }
}

async function read(engine: Engine, body: JsonObject, keepPrefix: boolean): Promise<JsonObject> {
  const answer = await engine.call({
    endpoint: 'completions',
    body: { model: 'chat', ...body },
    stream: true,
    signal: new AbortController().signal,
    keepPrefix,
  })
  let usage: JsonObject = {}
  if (answer.kind === 'stream')
    for await (const chunk of answer.chunks) if (chunk.usage) usage = chunk.usage as JsonObject
  return usage
}
