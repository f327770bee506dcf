/** POST /v1/messages, over the chat core. */
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { completeCall } from '../call-engine.ts'
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
  if (stream) {
    const chunks = new ChatChunks(meter, model.id, oneToolOnly)
    const writer = new MessagesStream(chunks, context, () => meter.read(), requestId)
    return streamAnswer(exchange, 'chat', wanted, writer)
  }
  const answer = await completeCall(exchange, 'chat', wanted)
  const normal = normalizeChat(answer.body, model.id, meter, oneToolOnly)
  return jsonAnswer(exchange, chatToMessage(normal, meter.read(), answer.fitted, context))
}
