/** Reads how much a call may generate and how it ends. */
import { EngineError, type JsonObject } from '../../engine.ts'
import type { GenerativeModel } from '../model/generative-model.ts'
import { tooLong } from '../prompt/too-long.ts'
import { integer } from '../scheduling/sampling.ts'

/** As many as the messages API allows; the endpoints of OpenAI check their own limit. */
const maxStops = 64
const maxStopChars = 1024

export function readStops(body: JsonObject): string[] {
  const { stop } = body
  if (stop === undefined || stop === null) return []
  const stops: unknown[] = Array.isArray(stop) ? stop : [stop]
  const isValid =
    stops.length <= maxStops &&
    stops.every((text) => typeof text === 'string' && text.length <= maxStopChars)
  if (!isValid)
    throw new EngineError('invalid_value', `stop must be at most ${maxStops} strings`, {
      param: 'stop',
    })
  return (stops as string[]).filter((text) => text !== '')
}

export function readChoices(body: JsonObject, { maxChoices }: GenerativeModel): number {
  const n = integer(body, 'n', 1, 128) ?? 1
  if (n > maxChoices)
    throw new EngineError('invalid_value', `n must be at most ${maxChoices} on this model`, {
      param: 'n',
    })
  return n
}

/** The requested limit, reduced to what fits the context; `fitted` says whether it was. */
export function fitMaxTokens(
  promptTokens: number,
  asked: number | undefined,
  { info: { contextLength } }: GenerativeModel,
  param: string,
): { maxTokens: number; fitted: boolean } {
  if (promptTokens === 0)
    throw new EngineError('invalid_value', 'the prompt must have at least one token', { param })
  if (promptTokens >= contextLength) throw tooLong(promptTokens, contextLength, param)
  const room = contextLength - promptTokens
  const fitted = asked === undefined || asked > room
  return { maxTokens: fitted ? room : asked, fitted }
}
