/** POST /v1/chat/completions. */
import { formatErrorBody } from '@privatemode/protocol/api'
import type { EngineModel, JsonObject } from '../../engine.ts'
import { RepeatedFormat } from '../../repeated-chunk.ts'
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { completeCall } from '../call-engine.ts'
import { applyRules, openAiRules } from '../field-rules.ts'
import { jsonAnswer } from '../json-answer.ts'
import { type StreamWriter, streamAnswer } from '../stream-answer.ts'
import { formatUsage } from '../usage-meter.ts'
import { normalizeChat } from './chat-answer.ts'
import { ChatChunks } from './chat-chunks.ts'
import { checkChat, requestedUsage } from './check-chat.ts'

export async function answerChat(exchange: Exchange): Promise<ApiAnswer> {
  const { body, model, meter, stream } = exchange
  applyRules(body, openAiRules)
  checkChat(body, model, stream)
  const oneToolOnly = body.parallel_tool_calls === false
  if (stream)
    return streamAnswer(exchange, 'chat', engineBody(exchange, body), chatWriter(exchange))
  const answer = await completeCall(exchange, 'chat', engineBody(exchange, body))
  return jsonAnswer(exchange, normalizeChat(answer.body, model.id, meter, oneToolOnly))
}

/** The body sent to the engine: the caller's fields, with what this worker has decided. */
export function engineBody(
  exchange: { model: EngineModel; cacheSalt: string; stream: boolean },
  body: JsonObject,
): JsonObject {
  const { stream_options: _, ...rest } = body
  const { model, cacheSalt, stream } = exchange
  return { ...rest, model: model.id, cache_salt: cacheSalt, stream }
}

function chatWriter({ body, model, meter, requestId }: Exchange): StreamWriter {
  const chunks = new ChatChunks(meter, model.id, body.parallel_tool_calls === false)
  const requested = requestedUsage(body)
  const usage = () => formatUsage(meter.read(), chunks.lastUsage)
  const format = (chunk: JsonObject) => {
    // The engine is always asked for counts; callers that did not request that chunk never see it.
    if (chunks.normalize(chunk).length === 0) return ''
    if (requested.atEnd) chunk.usage = requested.always ? usage() : null
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
  const repeated = new RepeatedFormat(format)
  return {
    ping: ': keep-alive\n\n',
    takesJoined: !requested.always,
    write(chunk) {
      if (requested.always) return format(chunk)
      chunks.readUsage(chunk)
      return repeated.write(chunk)
    },
    end() {
      chunks.requireFinished()
      if (!requested.atEnd) return 'data: [DONE]\n\n'
      const last = { ...chunks.envelope(), usage: usage() }
      return `data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`
    },
    fail: (error) => `data: ${JSON.stringify(formatErrorBody('openai', error, requestId))}\n\n`,
  }
}
