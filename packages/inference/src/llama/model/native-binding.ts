/**
 * The only file that depends on the internals of node-llama-cpp.
 *
 * Its public classes batch, sample and manage sequences in their own way: no raw log probabilities
 * under a grammar, no abort inside a long prompt, no copy between sequences. The native classes
 * beneath them support all of that. They are not a public interface, so the version is pinned,
 * everything we use is listed here, and a version that lacks any of it is refused at startup.
 */
import type { LlamaContext, LlamaEmbeddingContext, LlamaModel } from 'node-llama-cpp'
import { EngineError } from '../../engine.ts'

/** What a sampler keeps or changes; an absent field is off. */
export type NativeSamplerConfig = {
  temperature: number
  topK?: number
  topP?: number
  minP?: number
  seed?: number
  repeatPenalty?: number
  repeatPenaltyMaxTokens?: number
  repeatPenaltyTokens?: Uint32Array
  repeatPenaltyPresencePenalty?: number
  repeatPenaltyFrequencyPenalty?: number
  tokenBiasKeys?: Uint32Array
  tokenBiasValues?: Float32Array
  grammarEvaluationState?: NativeGrammarState
}

declare const grammarState: unique symbol
export type NativeGrammarState = { readonly [grammarState]: true }

export interface NativeSampler {
  applyConfig(config: NativeSamplerConfig): void
  dispose(): void
}

/** Requested logits: of these tokens, no extremes, without the selected one, and of the best `top`. */
export type LogitFilter = [tokens: number[], max: false, min: false, selected: false, top: number]
export type SampleWithLogits = [
  token: number,
  probabilities: undefined,
  confidence: undefined,
  logits: number[] | undefined,
  totalWeight: number | undefined,
]

/** One llama.cpp context. Calls must not overlap, except those of `sampleToken` with each other. */
export interface NativeContext {
  initBatch(tokens: number): void
  addToBatch(
    sequence: number,
    position: number,
    tokens: Uint32Array,
    wantLogitsAt: Uint32Array,
  ): Uint32Array
  decodeBatch(): Promise<void>
  sampleToken(logitIndex: number, sampler: NativeSampler): Promise<number>
  sampleToken(
    logitIndex: number,
    sampler: NativeSampler,
    probabilities: false,
    confidence: false,
    logits: LogitFilter,
    totalWeight: true,
  ): Promise<SampleWithLogits>
  disposeSequence(sequence: number): void
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  copySequenceStateFromOtherSequence(target: number, source: number): Promise<number>
  saveSequenceStateToFile(path: string, sequence: number, tokens: Uint32Array): Promise<number>
  loadSequenceStateFromFile(path: string, sequence: number, limit: number): Promise<Uint32Array>
  getEmbedding(tokens: number): Float64Array
  setThreads(threads: number): void
}

export interface NativeTemplate {
  render(variables: Record<string, unknown>): string
}

/** The native classes of one loaded model. */
export type NativeModel = {
  createSampler(): NativeSampler
  createGrammar(gbnf: string): { start(): NativeGrammarState; accepts(text: string): boolean }
  createTemplate(jinja: string): NativeTemplate
}

type Bindings = {
  AddonSampler: new (model: object) => NativeSampler
  AddonGrammar: new (gbnf: string, options: object) => { isTextCompatible(text: string): boolean }
  AddonGrammarEvaluationState: new (model: object, grammar: object) => NativeGrammarState
  AddonJinjaRenderer: new (template: string) => NativeTemplate
}

export function nativeModelOf(model: LlamaModel): NativeModel {
  const handle = field(model, '_model')
  const bindings = field(field(model, '_llama'), '_bindings') as Bindings
  for (const name of [
    'AddonSampler',
    'AddonGrammar',
    'AddonGrammarEvaluationState',
    'AddonJinjaRenderer',
  ] as const)
    if (typeof bindings[name] !== 'function') throw lacking(name)
  return {
    createSampler: () => new bindings.AddonSampler(handle),
    createGrammar: (gbnf) => {
      const options = { addonExports: bindings, rootRuleName: 'root' }
      const grammar = new bindings.AddonGrammar(gbnf, options)
      return {
        start: () => new bindings.AddonGrammarEvaluationState(handle, grammar),
        accepts: (text) => grammar.isTextCompatible(text),
      }
    },
    createTemplate: (jinja) => new bindings.AddonJinjaRenderer(jinja),
  }
}

export function nativeContextOf(context: LlamaContext | LlamaEmbeddingContext): NativeContext {
  const outer = '_llamaContext' in context ? field(context, '_llamaContext') : context
  const native = field(outer, '_ctx') as NativeContext
  for (const name of [
    'initBatch',
    'addToBatch',
    'decodeBatch',
    'sampleToken',
    'disposeSequence',
    'removeTokenCellsFromSequence',
    'copySequenceStateFromOtherSequence',
    'saveSequenceStateToFile',
    'loadSequenceStateFromFile',
    'getEmbedding',
    'setThreads',
  ] as const)
    if (typeof native[name] !== 'function') throw lacking(name)
  return native
}

function field(owner: object, name: string): object {
  const value: unknown = (owner as Record<string, unknown>)[name]
  if (typeof value !== 'object' || value === null) throw lacking(name)
  return value
}

const lacking = (name: string): EngineError =>
  new EngineError(
    'engine_failed',
    `the installed node-llama-cpp lacks ${name}: install the pinned version`,
  )
