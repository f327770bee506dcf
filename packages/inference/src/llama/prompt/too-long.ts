/** The refusal of a prompt that exceeds the model's context. */
import { EngineError } from '../../engine.ts'

export const tooLong = (promptTokens: number, contextLength: number, param: string): EngineError =>
  new EngineError(
    'context_length_exceeded',
    `this model's maximum context length is ${contextLength} tokens, but there are ${promptTokens} tokens: shorten the text`,
    { param, promptTokens },
  )
