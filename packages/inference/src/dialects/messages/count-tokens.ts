/** POST /v1/messages/count_tokens: what the same request would cost as a message. */
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { tryNative } from '../call-engine.ts'
import { jsonAnswer } from '../json-answer.ts'
import { engineBody } from '../openai/chat.ts'
import { checkChat } from '../openai/check-chat.ts'
import { checkMessagesFields } from './check-messages.ts'
import { messagesToChat } from './messages-to-chat.ts'
import { passedMessage } from './pass-message.ts'

export async function answerCountTokens(exchange: Exchange): Promise<ApiAnswer> {
  const { body, engine, model } = exchange
  checkMessagesFields(body)
  const chat = messagesToChat(body)
  checkChat(chat, model, false)
  const unstreamed = { ...exchange, stream: false }
  // Counted where the message would be answered, so that the number matches what it then costs.
  const passed = passedMessage(unstreamed, chat)
  const own = passed && (await tryNative(() => engine.countTokens(passed, 'messages', exchange)))
  const tokens = own ?? (await engine.countTokens(engineBody(unstreamed, chat), 'chat', exchange))
  return jsonAnswer(exchange, { input_tokens: tokens })
}
