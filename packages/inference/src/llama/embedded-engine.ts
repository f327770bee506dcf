/** llama.cpp in this process, behind the worker's engine interface. It never uses the network. */
import { availableParallelism } from 'node:os'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import {
  type Engine,
  type EngineAnswer,
  type EngineCall,
  EngineError,
  type EngineModel,
  type JsonObject,
} from '../engine.ts'
import { PrefixStore } from './cache/prefix-store.ts'
import { SealedMemory } from './cache/sealed-memory.ts'
import { isMemoryFolder } from './cache/state-file.ts'
import { answerChat, countChatTokens } from './calls/chat-call.ts'
import { answerCompletion } from './calls/completion-call.ts'
import { answerEmbeddings, type EmbeddingModel } from './calls/embedding-call.ts'
import { type EmbeddedEngineOptions, engineDefaults } from './engine-options.ts'
import type { GenerativeModel } from './model/generative-model.ts'
import { loadEmbedding, loadGenerative, type SharedParts } from './model/load-model.ts'
import { ThreadShare } from './model/thread-share.ts'

/** The version of node-llama-cpp this was written against; package.json pins the same. */
export const libraryVersion = '3.22.1'

/** Loads all models or none: a bad file aborts startup. */
export async function createEmbeddedEngine(options: EmbeddedEngineOptions): Promise<Engine> {
  const threadCount = Math.max(1, options.threads ?? availableParallelism() - 1)
  const llama = await getLlama({
    gpu: options.gpu ?? false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    // The library's messages may quote its input.
    logLevel: LlamaLogLevel.disabled,
    logger: () => {},
    maxThreads: threadCount,
  })
  const memory = new SealedMemory()
  const stateFolder = options.stateFolder ?? engineDefaults.stateFolder
  const parts: SharedParts = {
    llama,
    threadCount,
    threads: new ThreadShare(threadCount),
    memory,
    store: new PrefixStore(memory, options.prefixCacheBytes ?? engineDefaults.prefixCacheBytes),
    stateFolder: isMemoryFolder(stateFolder) ? stateFolder : undefined,
    maxWaiting: options.maxWaiting ?? engineDefaults.maxWaiting,
    maxChoices: options.maxChoices ?? engineDefaults.maxChoices,
  }
  const engine = new EmbeddedEngine(parts)
  try {
    for (const model of options.models) {
      if (model.task === 'generate') engine.addGenerative(await loadGenerative(model, parts))
      else engine.addEmbedding(await loadEmbedding(model, parts))
    }
  } catch (error) {
    await engine.close()
    throw error
  }
  return engine
}

class EmbeddedEngine implements Engine {
  readonly name = `llama.cpp ${libraryVersion}`
  readonly #parts: SharedParts
  readonly #generative = new Map<string, GenerativeModel>()
  readonly #embedding = new Map<string, EmbeddingModel>()

  constructor(parts: SharedParts) {
    this.#parts = parts
  }

  addGenerative(model: GenerativeModel): void {
    this.#generative.set(model.info.id, model)
  }

  addEmbedding(model: EmbeddingModel): void {
    this.#embedding.set(model.info.id, model)
  }

  models(): readonly EngineModel[] {
    return [...this.#generative.values(), ...this.#embedding.values()].map(({ info }) => info)
  }

  async call(call: EngineCall): Promise<EngineAnswer> {
    if (call.signal.aborted) throw new EngineError('aborted', 'the request was aborted')
    switch (call.endpoint) {
      case 'chat':
        return await answerChat(this.#generator(call.body), call, this.#cacheKey(call.body))
      case 'completions':
        return await answerCompletion(this.#generator(call.body), call, this.#cacheKey(call.body))
      case 'embeddings':
        return await answerEmbeddings(this.#embedder(call.body), call)
      case 'messages':
      case 'responses':
        throw new EngineError('unsupported_value', 'this engine has no native endpoints')
    }
  }

  async countTokens(body: JsonObject): Promise<number> {
    return countChatTokens(this.#generator(body), body)
  }

  async close(): Promise<void> {
    for (const model of [...this.#generative.values(), ...this.#embedding.values()])
      await model.close()
    this.#parts.store.clear()
    await this.#parts.llama.dispose()
  }

  /** Two calls share evaluated prompts only with the same model and the same salt. */
  #cacheKey({ model, cache_salt: salt }: JsonObject): string {
    const own = typeof salt === 'string' && salt !== '' ? salt : crypto.randomUUID()
    return this.#parts.memory.nameOf('salt', String(model), own)
  }

  #generator({ model }: JsonObject): GenerativeModel {
    const found = this.#generative.get(String(model))
    if (found === undefined) throw this.#unknown(model, 'write text', this.#embedding)
    return found
  }

  #embedder({ model }: JsonObject): EmbeddingModel {
    const found = this.#embedding.get(String(model))
    if (found === undefined) throw this.#unknown(model, 'embed', this.#generative)
    return found
  }

  #unknown(model: unknown, task: string, others: ReadonlyMap<string, unknown>): EngineError {
    return others.has(String(model))
      ? new EngineError('unsupported_value', `this model does not ${task}`, { param: 'model' })
      : new EngineError('model_not_found', 'there is no such model', { param: 'model' })
  }
}
