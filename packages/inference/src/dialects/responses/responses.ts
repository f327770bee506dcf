/**
 * POST /v1/responses, through the engine's native endpoint or the chat core; no state is kept
 * between requests.
 */
import type { JsonObject } from '../../engine.ts'
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { completeCall, completeNative, tryNative } from '../call-engine.ts'
import { jsonAnswer } from '../json-answer.ts'
import { isObject } from '../json-value.ts'
import { engineBody } from '../openai/chat.ts'
import { normalizeChat } from '../openai/chat-answer.ts'
import { ChatChunks } from '../openai/chat-chunks.ts'
import { checkChat } from '../openai/check-chat.ts'
import { streamAnswer } from '../stream-answer.ts'
import { passedResponse } from './pass-response.ts'
import { PassedEvents, passedAnswer } from './passed-answer.ts'
import {
  finishedResponse,
  outputItems,
  type ResponseContext,
  responseHead,
} from './response-object.ts'
import { ResponsesStream } from './responses-stream.ts'
import { responsesToChat } from './responses-to-chat.ts'

export async function answerResponses(exchange: Exchange): Promise<ApiAnswer> {
  const { body, model, meter, stream } = exchange
  const { chat, kinds } = responsesToChat(body)
  checkChat(chat, model, stream)
  const oneToolOnly = chat.parallel_tool_calls === false
  const context: ResponseContext = { body, model: model.id, kinds }
  const wanted = engineBody(exchange, chat)
  const passed = passedResponse(exchange)
  if (stream) {
    const usage = () => meter.read()
    const chunks = new ChatChunks(meter, model.id, oneToolOnly)
    const writer = new ResponsesStream(chunks, context, usage)
    const own = new PassedEvents(context, usage)
    const native = passed && ({ endpoint: 'responses', body: passed, writer: own } as const)
    return streamAnswer(exchange, 'chat', wanted, writer, native)
  }
  if (passed !== undefined) {
    const own = await tryNative(() => completeNative(exchange, 'responses', passed, wanted))
    if (own !== undefined) return jsonAnswer(exchange, passedAnswer(own, meter.read(), context))
  }
  const answer = await completeCall(exchange, 'chat', wanted)
  const normal = normalizeChat(answer.body, model.id, meter, oneToolOnly)
  const choice = firstChoice(normal)
  const message: JsonObject = isObject(choice.message) ? choice.message : {}
  const output = outputItems(message, context)
  const head = responseHead(context)
  return jsonAnswer(
    exchange,
    finishedResponse(head, output, choice.finish_reason, meter.read(), answer.body.usage),
  )
}

function firstChoice(chat: JsonObject): JsonObject {
  const choice = Array.isArray(chat.choices) ? chat.choices[0] : undefined
  return isObject(choice) ? choice : {}
}
