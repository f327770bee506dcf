/** A valid request for each endpoint that reaches an engine, for the scripted engine's models. */
import type { JsonObject } from '../engine.ts'
import { chatModel, embedModel } from './scripted-engine.ts'

const chat = { model: chatModel.id, messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 }

export const everyEndpoint: readonly [string, JsonObject][] = [
  ['/v1/chat/completions', chat],
  ['/v1/completions', { model: chatModel.id, prompt: 'a' }],
  ['/v1/messages', chat],
  ['/v1/messages/count_tokens', chat],
  ['/v1/responses', { model: chatModel.id, input: 'a' }],
  ['/v1/embeddings', { model: embedModel.id, input: 'a' }],
]
