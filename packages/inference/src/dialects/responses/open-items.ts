/** Output items in progress: the events that open, extend and close each kind. */
import type { JsonObject } from '../../engine.ts'
import { newId } from '../openai/new-id.ts'
import { messageItem, type ResponseContext, reasoningItem } from './response-object.ts'
import { callItem, customInput, type ToolKind } from './response-tools.ts'

export type OpenItem = {
  /** Distinguishes it from the item that another delta belongs to. */
  readonly name: string
  readonly opening: () => JsonObject[]
  readonly delta: (text: string) => JsonObject[]
  readonly closing: () => { item: JsonObject; events: JsonObject[] }
}

const added = (item: JsonObject): JsonObject => ({ type: 'response.output_item.added', item })

export function openMessage(): OpenItem {
  const id = newId('msg_')
  const place = { item_id: id, content_index: 0 }
  let text = ''
  const part = () => ({ type: 'output_text', text, annotations: [], logprobs: [] })
  return {
    name: 'message',
    opening: () => [
      added({ ...messageItem(id, ''), status: 'in_progress', content: [] }),
      { type: 'response.content_part.added', ...place, part: part() },
    ],
    delta: (piece) => {
      text += piece
      return [{ type: 'response.output_text.delta', ...place, delta: piece, logprobs: [] }]
    },
    closing: () => ({
      item: messageItem(id, text),
      events: [
        { type: 'response.output_text.done', ...place, text, logprobs: [] },
        { type: 'response.content_part.done', ...place, part: part() },
      ],
    }),
  }
}

export function openReasoningItem(context: ResponseContext): OpenItem {
  const id = newId('rs_')
  const place = { item_id: id, content_index: 0 }
  let text = ''
  const part = () => ({ type: 'reasoning_text', text })
  return {
    name: 'reasoning',
    opening: () => [
      added({ id, type: 'reasoning', summary: [], content: [] }),
      { type: 'response.content_part.added', ...place, part: part() },
    ],
    delta: (piece) => {
      text += piece
      return [{ type: 'response.reasoning_text.delta', ...place, delta: piece }]
    },
    closing: () => ({
      item: reasoningItem(id, text, context),
      events: [
        { type: 'response.reasoning_text.done', ...place, text },
        { type: 'response.content_part.done', ...place, part: part() },
      ],
    }),
  }
}

export function openCall(
  name: string,
  kind: ToolKind,
  callId: unknown,
  toolName: unknown,
): OpenItem {
  let text = ''
  const begun = callItem(kind, callId, toolName, '')
  const item_id = begun.id
  return {
    name,
    opening: () => [added({ ...begun, status: 'in_progress' })],
    delta: (piece) => {
      text += piece
      // Only a function's arguments are sent as the model writes them; the others are wrapped in
      // JSON.
      if (kind !== 'function') return []
      return [{ type: 'response.function_call_arguments.delta', item_id, delta: piece }]
    },
    closing: () => {
      const item = { ...callItem(kind, callId, toolName, text === '' ? '{}' : text), id: item_id }
      return { item, events: closingEvents(kind, item, text) }
    },
  }
}

function closingEvents(kind: ToolKind, item: JsonObject, text: string): JsonObject[] {
  const item_id = item.id
  switch (kind) {
    case 'function': {
      const type = 'response.function_call_arguments.done'
      return [{ type, item_id, name: item.name, arguments: item.arguments }]
    }
    case 'custom': {
      const input = customInput(text)
      return [
        { type: 'response.custom_tool_call_input.delta', item_id, delta: input },
        { type: 'response.custom_tool_call_input.done', item_id, input },
      ]
    }
    case 'local_shell':
      return []
  }
}
