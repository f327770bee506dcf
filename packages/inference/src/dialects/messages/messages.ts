/** POST /v1/messages, through the engine's native endpoint if it has one, otherwise through the chat core. */
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { completeCall, completeNative, tryNative } from '../call-engine.ts'
import { jsonAnswer } from '../json-answer.ts'
import { engineBody } from '../openai/chat.ts'
import { normalizeChat } from '../openai/chat-answer.ts'
import { ChatChunks } from '../openai/chat-chunks.ts'
import { checkChat } from '../openai/check-chat.ts'
import { streamAnswer } from '../stream-answer.ts'
import { MessagesStream } from './chat-to-messages-stream.ts'
import { checkMaxTokens, checkMessagesFields } from './check-messages.ts'
import { chatToMessage, type MessageContext } from './message-answer.ts'
import { messagesToChat, wantsThinking } from './messages-to-chat.ts'
import { passedMessage } from './pass-message.ts'
import { PassedEvents, passedAnswer } from './passed-answer.ts'

export async function answerMessages(exchange: Exchange): Promise<ApiAnswer> {
  const { body, model, meter, stream, requestId } = exchange
  checkMaxTokens(body)
  checkMessagesFields(body)
  const chat = messagesToChat(body)
  checkChat(chat, model, stream)
  const oneToolOnly = chat.parallel_tool_calls === false
  const context: MessageContext = {
    model: model.id,
    withThinking: wantsThinking(body),
    stopSequences: Array.isArray(body.stop_sequences) ? body.stop_sequences : [],
  }
  const wanted = engineBody(exchange, chat)
  const passed = passedMessage(exchange, chat)
  if (stream) {
    const usage = () => meter.read()
    const chunks = new ChatChunks(meter, model.id, oneToolOnly)
    const writer = new MessagesStream(chunks, context, usage, requestId)
    const own = new PassedEvents(context, usage, requestId)
    const native = passed && ({ endpoint: 'messages', body: passed, writer: own } as const)
    return streamAnswer(exchange, 'chat', wanted, writer, native)
  }
  if (passed !== undefined) {
    const own = await tryNative(() => completeNative(exchange, 'messages', passed, wanted))
    if (own !== undefined) return jsonAnswer(exchange, passedAnswer(own, meter.read(), context))
  }
  const answer = await completeCall(exchange, 'chat', wanted)
  const normal = normalizeChat(answer.body, model.id, meter, oneToolOnly)
  return jsonAnswer(exchange, chatToMessage(normal, meter.read(), answer.fitted, context))
}
