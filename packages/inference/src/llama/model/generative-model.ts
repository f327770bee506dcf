/** A loaded model that generates text, with everything a call needs. */
import type { EngineModel } from '../../engine.ts'
import type { ChatTemplate } from '../prompt/chat-template.ts'
import type { PromptTokens } from '../prompt/prompt-tokens.ts'
import type { SamplingDefaults } from '../scheduling/sampling.ts'
import type { SequenceScheduler } from '../scheduling/sequence-scheduler.ts'
import type { TokenText } from '../scheduling/token-text.ts'
import type { NativeModel } from './native-binding.ts'

export type GenerativeModel = {
  readonly info: EngineModel
  readonly native: NativeModel
  readonly text: TokenText
  readonly tokenizer: PromptTokens
  readonly template: ChatTemplate
  readonly scheduler: SequenceScheduler
  readonly sampling: SamplingDefaults
  /** How many choices one call may request. */
  readonly maxChoices: number
  close(): Promise<void>
}
