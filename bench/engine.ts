/**
 * The embedded engine against the bare library, in one run: what our layer costs and what it gains.
 *
 *     bun bench/engine.ts            TinyLlama and MiniLM, some minutes
 *     bun bench/engine.ts --quick    the story model, under a minute; its prompts are short
 *     bun bench/engine.ts --cpu      counts processor time instead of the clock's, for busy machines
 *     THREADS=2 bun bench/engine.ts  with another number of threads
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ensureModel } from '@privatemode/stack/models'
import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp'
import { createEmbeddedEngine } from '../apps/worker/src/engine/embedded/embedded-engine.ts'
import type { Engine, JsonObject } from '../apps/worker/src/engine/engine.ts'

const isQuick = process.argv.includes('--quick')
const isCpuTime = process.argv.includes('--cpu')
const threads = Number(process.env.THREADS ?? Math.max(1, availableParallelism() - 1))
const cacheDir = join(import.meta.dir, '../node_modules/.cache/privatemode-models')
const chatName = isQuick ? 'stories15m' : 'tinyllama-1.1b-chat'
const chatPath = (await ensureModel(chatName, { cacheDir })).path
const embedPath = (await ensureModel('all-minilm-l6-v2', { cacheDir })).path
const contextLength = isQuick ? 256 : 2048
const sequences = 4
const tokensEach = isQuick ? 100 : 24
const rounds = 5
const prompt = 'Once upon a time, in a village by the sea, there lived'

async function measureAll(): Promise<void> {
  console.log(
    `${chatName}, ${threads} thread(s), ${rounds} rounds, medians; load differs, ratios count\n`,
  )
  const bare = await openBare()
  const engine = await openEngine()
  const one: [number, number][] = []
  const four: [number, number][] = []
  for (let round = 0; round < rounds; round++) {
    one.push([await bare.generate(1), await generate(engine, 1)])
    four.push([await bare.generate(4), await generate(engine, 4)])
  }
  const bareOne = median(one.map(([value]) => value))
  const ourFour = median(four.map(([, value]) => value))
  row('one stream, tokens/s', one, 0.95)
  row('four streams, tokens/s in total', four, 0.95)
  console.log(line('four streams against one bare', bareOne, ourFour, ourFour / bareOne, 1))
  await measurePrefix(engine)
  const embeddings: [number, number][] = []
  for (let round = 0; round < rounds; round++)
    embeddings.push([await bare.embed(), await embed(engine)])
  row('embeddings, texts/s', embeddings, 0.9)
  const [bareBytes, ourBytes] = [await childMemory('bare'), await childMemory('engine')]
  const ratio = ourBytes / bareBytes
  const shown = `bare ${megabytes(bareBytes)} MB, engine ${megabytes(ourBytes)} MB, ratio ${ratio.toFixed(2)}`
  console.log(`${'memory, peak'.padEnd(36)}${shown} (at most 1.3: ${ratio <= 1.3 ? 'yes' : 'NO'})`)
}

/** Time to the first token of a long prompt: new, again, and again after it was swapped out. */
async function measurePrefix(engine: Engine): Promise<void> {
  const words = isQuick ? 40 : 300
  const long = Array.from({ length: words }, (_, at) => `${at % 10} apples`).join(', ')
  const ask = (cache_salt: string): Promise<{ ms: number; usage: JsonObject }> =>
    firstToken(engine, { prompt: long, max_tokens: 1, cache_salt })
  const first = await ask('bench-salt'.repeat(4))
  const again = await ask('bench-salt'.repeat(4))
  const other = 'short'.repeat(8)
  for (let at = 0; at < sequences; at++)
    await firstToken(engine, { prompt, max_tokens: 1, cache_salt: `${other}${at}` })
  const swapped = await ask('bench-salt'.repeat(4))
  const sooner = (ms: number): string => `${(first.ms / ms).toFixed(1)} times sooner`
  console.log(
    `${'prompt again, same salt'.padEnd(36)}${JSON.stringify(first.usage.prompt_tokens)} tokens: ${first.ms.toFixed(0)} ms, then ${again.ms.toFixed(0)} ms, ${sooner(again.ms)} (at least 8: ${first.ms / again.ms >= 8 ? 'yes' : 'NO'})`,
  )
  console.log(
    `${'… after it was swapped out'.padEnd(36)}${swapped.ms.toFixed(0)} ms, ${sooner(swapped.ms)}`,
  )
}

async function openBare() {
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    logLevel: LlamaLogLevel.disabled,
    maxThreads: threads,
  })
  const model = await llama.loadModel({ modelPath: chatPath })
  const context = await model.createContext({ contextSize: contextLength, sequences, threads })
  const streams = Array.from({ length: sequences }, () => context.getSequence())
  const embedModel = await llama.loadModel({ modelPath: embedPath })
  const embedder = await embedModel.createEmbeddingContext({
    contextSize: 512,
    batchSize: 512,
    threads,
  })
  const tokens = model.tokenize(prompt)
  const start = model.tokens.bos === null ? tokens : [model.tokens.bos, ...tokens]
  return {
    async generate(count: number): Promise<number> {
      const run = async (at: number): Promise<void> => {
        const sequence = streams[at]
        if (sequence === undefined) throw new RangeError('too few sequences')
        await sequence.clearHistory()
        let said = 0
        const options = { temperature: 0, yieldEogToken: true } as const
        for await (const _ of sequence.evaluate(start as Token[], options))
          if (++said === tokensEach) break
      }
      return await rate(count * tokensEach, () => Promise.all(range(count).map(run)))
    },
    embed: () =>
      rate(texts.length, async () => {
        for (const text of texts) await embedder.getEmbeddingFor(text)
      }),
  }
}

function openEngine(): Promise<Engine> {
  return createEmbeddedEngine({
    threads,
    models: [
      { path: chatPath, id: 'chat', task: 'generate', contextLength, sequences },
      { path: embedPath, id: 'embed', task: 'embed' },
    ],
  })
}

function generate(engine: Engine, count: number): Promise<number> {
  const body = { prompt, max_tokens: tokensEach, ignore_eos: true, temperature: 0 }
  return rate(count * tokensEach, () =>
    Promise.all(range(count).map(() => read(engine, body, false))),
  )
}

const embed = (engine: Engine): Promise<number> =>
  rate(texts.length, () =>
    engine.call({
      endpoint: 'embeddings',
      body: { model: 'embed', input: texts },
      stream: false,
      signal: new AbortController().signal,
    }),
  )

async function firstToken(
  engine: Engine,
  body: JsonObject,
): Promise<{ ms: number; usage: JsonObject }> {
  const started = performance.now()
  const usage = await read(engine, { temperature: 0, ...body })
  return { ms: performance.now() - started, usage }
}

/** Without `keepPrefix` as the worker calls for requests that bring no salt. */
async function read(engine: Engine, body: JsonObject, keepPrefix = true): Promise<JsonObject> {
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

/** Both do the same work in a process of their own; the kernel tells the peak. */
async function measureMemory(which: string): Promise<void> {
  if (which === 'bare') {
    const bare = await openBare()
    await bare.generate(4)
    await bare.embed()
  } else {
    const engine = await openEngine()
    await generate(engine, 4)
    await embed(engine)
    await measureCacheFull(engine)
  }
  const status = await Bun.file('/proc/self/status').text()
  console.log(`peak ${Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024}`)
}

/** Prompts under many salts, until states have been swapped out. */
async function measureCacheFull(engine: Engine): Promise<void> {
  const body = { prompt: `${prompt} `.repeat(isQuick ? 8 : 12), max_tokens: 1 }
  for (let at = 0; at < 8; at++) await read(engine, { ...body, cache_salt: `salt ${at}`.repeat(8) })
}

async function childMemory(which: string): Promise<number> {
  const args = [
    process.execPath,
    import.meta.path,
    `--memory=${which}`,
    ...(isQuick ? ['--quick'] : []),
  ]
  const child = Bun.spawn(args, { stdout: 'pipe', stderr: 'inherit' })
  const told = await new Response(child.stdout).text()
  return Number(/peak (\d+)/.exec(told)?.[1] ?? Number.NaN)
}

/** Per second of the clock; with `--cpu` per second of processor time, which a busy machine leaves alone. */
async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  const usedBefore = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(usedBefore)
  const ms = isCpuTime ? (user + system) / 1000 : performance.now() - started
  return (count / ms) * 1000
}

function row(name: string, pairs: [number, number][], goal: number): void {
  const ratio = median(pairs.map(([bare, ours]) => ours / bare))
  const [bare, ours] = [median(pairs.map(([b]) => b)), median(pairs.map(([, o]) => o))]
  console.log(line(name, bare, ours, ratio, goal))
}

const line = (name: string, bare: number, ours: number, ratio: number, goal: number): string =>
  `${name.padEnd(36)}bare ${bare.toFixed(1)}, engine ${ours.toFixed(1)}, ratio ${ratio.toFixed(2)} (at least ${goal}: ${ratio >= goal ? 'yes' : 'NO'})`
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0)
const texts = Array.from(
  { length: 200 },
  (_, at) => `Sentence number ${at} tells of ${at % 7} boats and a long way home.`,
)

const part = process.argv.find((arg) => arg.startsWith('--memory='))?.slice('--memory='.length)
if (part !== undefined) await measureMemory(part)
else await measureAll()
process.exit(0)
