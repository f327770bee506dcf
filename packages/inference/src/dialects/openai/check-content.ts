/** Checks the messages of a chat request: roles, content parts, and that no media would be fetched. */
import type { EngineModel, JsonObject } from '../../engine.ts'
import { isText } from '../../long-text.ts'
import {
  isObject,
  requireList,
  requireName,
  requireObject,
  requireText,
  unsupported,
  wrongValue,
} from '../json-value.ts'

export function checkMessages(body: JsonObject, model: EngineModel): void {
  const messages = requireList(body.messages, 'messages')
  if (messages.length === 0)
    throw wrongValue('messages', 'a list with at least one message', messages)
  messages.forEach((message, i) => {
    checkMessage(requireObject(message, `messages.${i}`), `messages.${i}`, model)
  })
}

function checkMessage(message: JsonObject, at: string, model: EngineModel): void {
  switch (message.role) {
    case 'developer':
      message.role = 'system' // most templates do not know developer, which means the same
      break
    case 'system':
    case 'user':
      break
    case 'assistant':
      checkAssistant(message, at, model)
      return
    case 'tool':
      requireName(message.tool_call_id, `${at}.tool_call_id`)
      break
    default: {
      const roles = 'one of system, developer, user, assistant, tool'
      throw wrongValue(`${at}.role`, roles, message.role)
    }
  }
  checkContent(message.content, `${at}.content`, model)
}

function checkAssistant(message: JsonObject, at: string, model: EngineModel): void {
  if (message.tool_calls === null) delete message.tool_calls
  if (message.tool_calls !== undefined)
    requireList(message.tool_calls, `${at}.tool_calls`).forEach((call, i) => {
      checkToolCall(call, `${at}.tool_calls.${i}`)
    })
  if (message.content === undefined || message.content === null) {
    const hasCalls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
    message.content = hasCalls ? null : ''
  } else checkContent(message.content, `${at}.content`, model)
  shareReasoning(message)
}

/** Servers spell the reasoning field in two ways; a history gets both, so either is found. */
export function shareReasoning(message: JsonObject): void {
  const reasoning = message.reasoning ?? message.reasoning_content
  if (typeof reasoning !== 'string') return
  message.reasoning = reasoning
  message.reasoning_content = reasoning
}

function checkToolCall(value: unknown, at: string): void {
  const call = requireObject(value, at)
  requireName(call.id, `${at}.id`)
  const named = requireObject(call.function, `${at}.function`)
  requireName(named.name, `${at}.function.name`)
  if (named.arguments === undefined || named.arguments === '') named.arguments = '{}'
  requireText(named.arguments, `${at}.function.arguments`)
}

function checkContent(content: unknown, at: string, model: EngineModel): void {
  if (isText(content)) return
  if (!Array.isArray(content)) throw wrongValue(at, 'a string or a list of parts', content)
  content.forEach((part, i) => {
    checkPart(requireObject(part, `${at}.${i}`), `${at}.${i}`, model)
  })
}

function checkPart(part: JsonObject, at: string, model: EngineModel): void {
  switch (part.type) {
    case 'text':
      if (!isText(part.text)) requireText(part.text, `${at}.text`)
      break
    case 'refusal':
      requireText(part.refusal, `${at}.refusal`)
      break
    case 'image_url':
      checkImage(part, at, model)
      break
    case 'input_audio':
    case 'file':
      throw unsupported(`${at}.type`, `parts of type ${part.type} are not supported`)
    default:
      throw wrongValue(`${at}.type`, 'text, refusal or image_url', part.type)
  }
  // Model servers look for media under such keys whatever the type is.
  for (const key of Object.keys(part))
    if (/_(?:url|embeds|pil)$/.test(key) && key !== part.type)
      throw unsupported(`${at}.${key}`, `'${key}' is not accepted in a part of type ${part.type}`)
}

function checkImage(part: JsonObject, at: string, model: EngineModel): void {
  const image = part.image_url
  const url = isObject(image) ? image.url : image
  if (typeof url !== 'string') throw wrongValue(`${at}.image_url`, 'an object with a url', image)
  if (!/^data:image\/[a-z0-9.+-]+;base64,/i.test(url)) {
    const message = 'images must be data: URLs with base64 content: workers do not fetch URLs'
    throw unsupported(`${at}.image_url`, message)
  }
  if (!model.vision) throw unsupported(at, `model '${model.id}' does not accept images`)
  refuseOthers(part, ['type', 'image_url', 'cache_control'], at)
  if (isObject(image)) refuseOthers(image, ['url', 'detail'], `${at}.image_url`)
}

/** Servers take an image's identity from other fields, such as that of another caller's image. */
function refuseOthers(object: JsonObject, known: readonly string[], at: string): void {
  for (const key of Object.keys(object))
    if (!known.includes(key))
      throw unsupported(`${at}.${key}`, `'${key}' is not accepted in an image`)
}
