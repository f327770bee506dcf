/** Normalises a complete chat answer from any engine to the form that clients rely on. */
import type { JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import { dropTransferFields } from '../transfer-fields.ts'
import { formatUsage, type UsageMeter } from '../usage-meter.ts'
import { shareReasoning } from './check-content.ts'
import { mapFinishReason } from './finish-reason.ts'
import { newId } from './new-id.ts'

export function normalizeChat(
  answer: JsonObject,
  model: string,
  meter: UsageMeter,
  oneToolOnly: boolean,
): JsonObject {
  const choices = Array.isArray(answer.choices) ? answer.choices.filter(isObject) : []
  choices.forEach((choice, i) => {
    normalizeChoice(choice, i, oneToolOnly)
  })
  return {
    ...dropTransferFields(answer),
    id: newId('chatcmpl-'),
    object: 'chat.completion',
    created: createdOf(answer),
    model,
    choices,
    usage: formatUsage(meter.read(), answer.usage),
    prompt_logprobs: answer.prompt_logprobs ?? null,
  }
}

export function createdOf(answer: JsonObject): number {
  return typeof answer.created === 'number' ? answer.created : Math.floor(Date.now() / 1000)
}

function normalizeChoice(choice: JsonObject, index: number, oneToolOnly: boolean): void {
  const message: JsonObject = isObject(choice.message) ? choice.message : {}
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : []
  const kept = oneToolOnly ? calls.slice(0, 1) : calls
  for (const call of kept) {
    call.id = typeof call.id === 'string' && call.id !== '' ? call.id : newId('call_')
    call.type = 'function'
  }
  choice.index ??= index
  choice.message = message
  message.role = 'assistant'
  message.content ??= null
  message.refusal ??= null
  message.tool_calls = kept
  // The official Python client raises an error if a field that it does not know is missing.
  message.reasoning ??= null
  shareReasoning(message)
  choice.logprobs ??= null
  choice.finish_reason = mapFinishReason(choice.finish_reason, kept.length > 0)
  choice.stop_reason ??= null
}
