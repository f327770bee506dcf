/** One generation on its sequence: from the first prompt token to the last sampled one. */
import { EngineError } from '../../engine.ts'
import type {
  NativeContext,
  NativeGrammarState,
  NativeModel,
  NativeSampler,
} from '../model/native-binding.ts'
import type { ThreadShare } from '../model/thread-share.ts'
import type { BatchNeed } from './batch-plan.ts'
import type { GenerationEnd, GenerationTask } from './generation-task.ts'
import type { SequenceSlots, Slot } from './sequence-slots.ts'
import { scoreToken } from './token-score.ts'

/** What the sequences of one context share. */
export type SchedulerParts = {
  readonly native: NativeContext
  readonly model: NativeModel
  readonly slots: SequenceSlots
  readonly threads: ThreadShare
  readonly isEndToken: (token: number) => boolean
}

export class RunningSequence {
  readonly slot: Slot
  readonly #parts: SchedulerParts
  readonly #task: GenerationTask
  readonly #sampler: NativeSampler
  /** Samples greedily and changes nothing: its logits are the model's own. */
  readonly #plain: NativeSampler | undefined
  readonly #generated: number[] = []
  /** Logits of the current batch: their index, and the prompt position they follow. */
  #results: { logitIndex: number; position: number }[] = []

  constructor(parts: SchedulerParts, slot: Slot, task: GenerationTask) {
    this.slot = slot
    this.#parts = parts
    this.#task = task
    this.#sampler = parts.model.createSampler()
    const grammarEvaluationState = task.grammar?.start()
    this.#sampler.applyConfig({
      ...task.sampler,
      ...(grammarEvaluationState && { grammarEvaluationState }),
    })
    if (task.topLogprobs !== undefined || task.promptLogprobs !== undefined) {
      this.#plain = parts.model.createSampler()
      this.#plain.applyConfig({ temperature: 0 })
    }
  }

  get isGenerating(): boolean {
    return this.#generated.length > 0
  }

  get need(): BatchNeed {
    const promptLeft = Math.max(0, this.#task.prompt.length - this.slot.tokens.length)
    const { promptLogprobs, keep } = this.#task
    return { promptLeft, scoresPrompt: promptLogprobs !== undefined, endsAlone: keep }
  }

  /** Adds the next tokens to the batch and counts them as evaluated. */
  addToBatch(count: number): void {
    this.#results = []
    if (count === 0) return
    const { slot } = this
    const { prompt, promptLogprobs } = this.#task
    const from = slot.tokens.length
    const last = this.#generated.at(-1)
    const tokens = last === undefined ? prompt.slice(from, from + count) : [last]
    const scored = promptLogprobs !== undefined && last === undefined
    const isLast = from + tokens.length >= prompt.length
    const wanted = tokens.flatMap((_, at) => (scored || (isLast && at === count - 1) ? [at] : []))
    const indexes = this.#parts.native.addToBatch(
      slot.id,
      from,
      Uint32Array.from(tokens),
      Uint32Array.from(wanted),
    )
    slot.tokens.push(...tokens)
    this.#results = wanted.map((at, i) => ({ logitIndex: indexes[i] ?? 0, position: from + at }))
  }

  /** Samples from the batch that was just decoded; returns the end if there is one. */
  async takeResults(): Promise<GenerationEnd | undefined> {
    const { prompt, promptLogprobs, onPromptScore } = this.#task
    for (const { logitIndex, position } of this.#results) {
      const following = prompt[position + 1]
      if (following === undefined) return await this.#sample(logitIndex)
      onPromptScore(await this.#score(logitIndex, following, promptLogprobs ?? 0))
    }
    return undefined
  }

  dispose(): void {
    this.#sampler.dispose()
    this.#plain?.dispose()
  }

  async #sample(logitIndex: number): Promise<GenerationEnd | undefined> {
    const { maxTokens, topLogprobs, ignoreEnd, onToken } = this.#task
    if (maxTokens === 0) return 'length'
    const token = await this.#parts.native.sampleToken(logitIndex, this.#sampler)
    if (token < 0) throw new EngineError('engine_failed', 'no token is allowed here')
    const isEnd = this.#parts.isEndToken(token) && !ignoreEnd
    const score =
      topLogprobs === undefined ? undefined : await this.#score(logitIndex, token, topLogprobs)
    this.#generated.push(token)
    const decision = onToken({ token, isEnd, score })
    if (isEnd) return 'end_token'
    if (decision.kind === 'stop') return 'stopped'
    if (this.#generated.length >= maxTokens) return 'length'
    if (decision.kind === 'constrain') this.#constrain(decision.grammar)
    return undefined
  }

  #score(logitIndex: number, token: number, top: number) {
    if (this.#plain === undefined)
      throw new EngineError('engine_failed', 'no scores were asked for')
    return scoreToken(this.#parts.native, this.#plain, logitIndex, token, top)
  }

  /** The penalties' history is passed again: a changed configuration would lose it. */
  #constrain(grammarEvaluationState: NativeGrammarState): void {
    const { sampler } = this.#task
    const history = sampler.repeatPenaltyTokens
    this.#sampler.applyConfig({
      ...sampler,
      ...(history && { repeatPenaltyTokens: Uint32Array.from([...history, ...this.#generated]) }),
      grammarEvaluationState,
    })
  }
}
