/** POST /v1/messages/count_tokens: what the same request would cost as a message. */
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { jsonAnswer } from '../json-answer.ts'
import { engineBody } from '../openai/chat.ts'
import { checkChat } from '../openai/check-chat.ts'
import { checkMessagesFields } from './check-messages.ts'
import { messagesToChat } from './messages-to-chat.ts'

export async function answerCountTokens(exchange: Exchange): Promise<ApiAnswer> {
  const { body, engine, model } = exchange
  checkMessagesFields(body)
  const chat = messagesToChat(body)
  checkChat(chat, model, false)
  const tokens = await engine.countTokens(engineBody({ ...exchange, stream: false }, chat))
  return jsonAnswer(exchange, { input_tokens: tokens })
}
