/** Loads one GGUF file and prepares it for serving. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Llama, LlamaModel } from 'node-llama-cpp'
import { EngineError, type EngineModel } from '../../engine.ts'
import { readVerityRoot } from '../../verity-root.ts'
import type { PrefixStore } from '../cache/prefix-store.ts'
import type { SealedMemory } from '../cache/sealed-memory.ts'
import type { EmbeddingModel } from '../calls/embedding-call.ts'
import { type EmbeddedModelOptions, engineDefaults } from '../engine-options.ts'
import { ChatTemplate } from '../prompt/chat-template.ts'
import { PromptTokens } from '../prompt/prompt-tokens.ts'
import { SequenceScheduler } from '../scheduling/sequence-scheduler.ts'
import { SequenceSlots } from '../scheduling/sequence-slots.ts'
import { TokenText } from '../scheduling/token-text.ts'
import { Embedder } from './embedder.ts'
import type { GenerativeModel } from './generative-model.ts'
import { type NativeModel, nativeContextOf, nativeModelOf } from './native-binding.ts'
import type { ThreadShare } from './thread-share.ts'

/** What all models of an engine share. */
export type SharedParts = {
  readonly llama: Llama
  readonly threads: ThreadShare
  readonly threadCount: number
  readonly memory: SealedMemory
  readonly store: PrefixStore
  readonly stateFolder: string | undefined
  readonly maxWaiting: number
  readonly maxChoices: number
}

/** Prompt tokens per step: CPUs gain nothing from more, and an abort waits for the step. */
const promptChunk = { cpu: 64, gpu: 512 } as const
const sharedChunk = { cpu: 32, gpu: 256 } as const

export async function loadGenerative(
  options: EmbeddedModelOptions,
  parts: SharedParts,
): Promise<GenerativeModel> {
  const { model, info } = await loadFile(options, parts)
  const sequences = options.sequences ?? engineDefaults.sequences
  const kind = parts.llama.gpu === false ? 'cpu' : 'gpu'
  const batchTokens = promptChunk[kind] + sequences
  const context = await makeContext(info, model, () =>
    model.createContext({
      contextSize: info.contextLength,
      sequences,
      batchSize: batchTokens,
      threads: parts.threadCount,
      swaFullCache: true, // a window that slid away could not be reused as a prefix
      failedCreationRemedy: false,
    }),
  )
  const native = nativeModelOf(model)
  const text = new TokenText(model)
  const slots = new SequenceSlots(nativeContextOf(context), parts.memory, parts.store, {
    count: sequences,
    contextLength: info.contextLength,
    canTrim: !model.fileInsights.isRecurrent && !model.fileInsights.isHybrid,
    stateFolder: parts.stateFolder,
  })
  const scheduler = new SequenceScheduler(
    {
      native: nativeContextOf(context),
      model: native,
      slots,
      threads: parts.threads,
      isEndToken: (token) => model.isEogToken(token as never),
    },
    {
      batchTokens,
      promptChunk: promptChunk[kind],
      sharedChunk: sharedChunk[kind],
      maxWaiting: parts.maxWaiting,
    },
  )
  return {
    info,
    native,
    text,
    tokenizer: new PromptTokens(model, text, info.contextLength),
    template: makeTemplate(info.id, native, model),
    scheduler,
    sampling: options.sampling ?? {},
    maxChoices: parts.maxChoices,
    close: async () => {
      await scheduler.close()
      await context.dispose()
      await model.dispose()
    },
  }
}

export async function loadEmbedding(
  options: EmbeddedModelOptions,
  parts: SharedParts,
): Promise<EmbeddingModel> {
  const { model, info } = await loadFile(options, parts)
  const context = await makeContext(info, model, () =>
    model.createEmbeddingContext({
      contextSize: info.contextLength,
      batchSize: info.contextLength, // an encoder needs its whole input in one batch
      threads: parts.threadCount,
    }),
  )
  const embedder = new Embedder(context, parts.threads, parts.maxWaiting)
  return {
    info,
    model,
    tokenizer: new PromptTokens(model, new TokenText(model), info.contextLength),
    embedder,
    canShorten: options.canShorten === true,
    close: async () => {
      await embedder.close()
      await model.dispose()
    },
  }
}

function makeTemplate(id: string, native: NativeModel, model: LlamaModel): ChatTemplate {
  const { bosString, eosString } = model.tokens
  const tokens = { bos_token: bosString ?? '', eos_token: eosString ?? '' }
  try {
    return new ChatTemplate(native, model.fileInfo.metadata.tokenizer.chat_template, tokens)
  } catch (cause) {
    const message = `the chat template in the file of the model ${id} cannot be read`
    throw new EngineError('engine_failed', message, { cause })
  }
}

async function makeContext<T>(
  { id, contextLength }: EngineModel,
  model: LlamaModel,
  create: () => Promise<T>,
): Promise<T> {
  try {
    return await create()
  } catch (cause) {
    await model.dispose()
    const advice = 'choose a shorter context or fewer sequences'
    throw new EngineError(
      'engine_failed',
      `no memory for the model ${id} with a context of ${contextLength} tokens: ${advice}`,
      { cause },
    )
  }
}

async function loadFile(
  options: EmbeddedModelOptions,
  { llama }: SharedParts,
): Promise<{ model: LlamaModel; info: EngineModel }> {
  const { path, id, task } = options
  const { digest, modifiedMs } = await examine(options)
  const model = await llama.loadModel({ modelPath: path }).catch((cause: unknown) => {
    const reason =
      'the file is truncated or damaged, or of a kind that this llama.cpp does not support'
    const message = `cannot load the model ${id} from ${path}: ${reason}`
    throw new EngineError('engine_failed', message, { cause })
  })
  const contextLength = Math.min(
    options.contextLength ?? engineDefaults.contextLength[task],
    model.trainContextSize,
  )
  const info: EngineModel = {
    id,
    tasks: [task],
    digest,
    contextLength,
    displayName: options.displayName ?? model.fileInfo.metadata.general.name ?? id,
    created: Math.floor(modifiedMs / 1000),
    vision: false,
  }
  return { model, info }
}

async function examine({
  path,
  id,
  sha256,
  verityRoot,
}: EmbeddedModelOptions): Promise<{ digest: string; modifiedMs: number }> {
  const hash = createHash('sha256')
  const file = await stat(path).catch(() => undefined)
  if (file?.isFile() !== true)
    throw new EngineError('engine_failed', `the model ${id} has no file at ${path}`)
  if (verityRoot !== undefined && verityRoot !== (await readVerityRoot(path)))
    throw new EngineError(
      'engine_failed',
      `${path} is not on a volume with the root hash ${verityRoot}: the model ${id} is not loaded`,
    )
  let start: Buffer | undefined
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    start ??= chunk as Buffer
    // The kernel checks every block against the root hash whenever it is read.
    if (verityRoot !== undefined) break
    hash.update(chunk)
  }
  const digest = verityRoot ?? hash.digest('hex')
  if (sha256 !== undefined && digest !== sha256.toLowerCase())
    throw new EngineError(
      'engine_failed',
      `${path} has SHA-256 ${digest}, expected ${sha256}: the model ${id} is not loaded`,
    )
  if (start === undefined || !isGguf(start))
    throw new EngineError(
      'engine_failed',
      `${path}, the file of the model ${id}, is not a GGUF file`,
    )
  return { digest, modifiedMs: file.mtimeMs }
}

/** Checks the header of a GGUF file: the library reads on for minutes if it is garbage. */
function isGguf(start: Buffer): boolean {
  if (start.length < 24 || start.toString('latin1', 0, 4) !== 'GGUF') return false
  const version = start.readUInt32LE(4)
  const [tensors, facts] = [start.readBigUInt64LE(8), start.readBigUInt64LE(16)]
  return version >= 1 && version <= 3 && tensors < 1_000_000n && facts < 1_000_000n
}
