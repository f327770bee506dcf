/** POST /v1/completions, deprecated in favour of chat completions. */
import { formatErrorBody } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../../engine.ts'
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { completeCall } from '../call-engine.ts'
import { jsonAnswer } from '../json-answer.ts'
import { isObject } from '../json-value.ts'
import { type StreamWriter, streamAnswer } from '../stream-answer.ts'
import { dropTransferFields } from '../transfer-fields.ts'
import { formatUsage } from '../usage-meter.ts'
import { engineBody } from './chat.ts'
import { createdOf } from './chat-answer.ts'
import { requestedUsage } from './check-chat.ts'
import { checkCompletion } from './check-completions.ts'
import { mapFinishReason } from './finish-reason.ts'
import { newId } from './new-id.ts'

export async function answerCompletion(exchange: Exchange): Promise<ApiAnswer> {
  const { body, stream } = exchange
  checkCompletion(body, stream)
  const wanted = engineBody(exchange, body)
  if (stream) return streamAnswer(exchange, 'completions', wanted, completionWriter(exchange))
  const { body: answer } = await completeCall(exchange, 'completions', wanted)
  return jsonAnswer(exchange, normalizeCompletion(answer, exchange))
}

function normalizeCompletion(answer: JsonObject, { model, meter }: Exchange): JsonObject {
  const choices = Array.isArray(answer.choices) ? answer.choices.filter(isObject) : []
  choices.forEach((choice, i) => {
    choice.index ??= i
    choice.text ??= ''
    choice.logprobs ??= null
    choice.finish_reason = mapFinishReason(choice.finish_reason, false)
    choice.stop_reason ??= null
  })
  return {
    ...dropTransferFields(answer),
    id: newId('cmpl-'),
    object: 'text_completion',
    created: createdOf(answer),
    model: model.id,
    choices,
    usage: formatUsage(meter.read(), answer.usage),
  }
}

function completionWriter({ body, model, meter, requestId }: Exchange): StreamWriter {
  const head = {
    id: newId('cmpl-'),
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: model.id,
  }
  const requested = requestedUsage(body)
  const finished = new Map<number, boolean>()
  let engineUsage: unknown
  const usage = () => formatUsage(meter.read(), engineUsage)
  return {
    ping: ': keep-alive\n\n',
    write(chunk) {
      if (isObject(chunk.usage)) engineUsage = chunk.usage
      meter.readWire(chunk.usage)
      const choices = Array.isArray(chunk.choices) ? chunk.choices.filter(isObject) : []
      if (choices.length === 0) return ''
      for (const choice of choices) normalizeDelta(choice, finished)
      const { usage: _, ...kept } = dropTransferFields(chunk)
      const counts = requested.atEnd ? { usage: requested.always ? usage() : null } : {}
      return `data: ${JSON.stringify({ ...kept, ...head, choices, ...counts })}\n\n`
    },
    end() {
      if (finished.size === 0 || [...finished.values()].includes(false))
        throw new EngineError('engine_failed', 'the engine ended before its answer did')
      if (!requested.atEnd) return 'data: [DONE]\n\n'
      return `data: ${JSON.stringify({ ...head, choices: [], usage: usage() })}\n\ndata: [DONE]\n\n`
    },
    fail: (error) => `data: ${JSON.stringify(formatErrorBody('openai', error, requestId))}\n\n`,
  }
}

function normalizeDelta(choice: JsonObject, finished: Map<number, boolean>): void {
  const index = typeof choice.index === 'number' ? choice.index : 0
  const isEnd = typeof choice.finish_reason === 'string' && finished.get(index) !== true
  choice.index = index
  choice.text ??= ''
  choice.logprobs ??= null
  choice.finish_reason = isEnd ? mapFinishReason(choice.finish_reason, false) : null
  choice.stop_reason ??= null
  finished.set(index, isEnd || finished.get(index) === true)
}
