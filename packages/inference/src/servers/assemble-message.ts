/** Assembles the events of a message or a response into the complete answer that the caller asked for. */
import { EngineError, type JsonObject, type NativeEndpoint } from '../engine.ts'
import { asObject, requireWhole } from './native-endpoints.ts'

export async function assembleNative(
  endpoint: NativeEndpoint,
  events: AsyncIterable<JsonObject>,
): Promise<JsonObject> {
  switch (endpoint) {
    case 'messages':
      return requireWhole(endpoint, await assembleMessage(events))
    case 'responses': {
      // The last event contains the complete response.
      let last: JsonObject = {}
      for await (const event of events) last = event
      return requireWhole(endpoint, asObject(last.response) ?? {})
    }
  }
}

async function assembleMessage(events: AsyncIterable<JsonObject>): Promise<JsonObject> {
  let message: JsonObject = {}
  const blocks: JsonObject[] = []
  let json = ''
  for await (const event of events) {
    const block = blocks.at(-1)
    switch (event.type) {
      case 'message_start':
        // Some servers omit here what is the same in every message.
        message = { type: 'message', role: 'assistant', ...(event.message as JsonObject) }
        break
      case 'content_block_start':
        blocks.push({ ...(event.content_block as JsonObject) })
        json = ''
        break
      case 'content_block_delta': {
        const { type, partial_json, ...pieces } = asObject(event.delta) ?? noDelta()
        if (type === 'input_json_delta') json += requireText(partial_json)
        else if (block !== undefined) addPieces(block, pieces)
        break
      }
      case 'content_block_stop':
        if (block !== undefined && json !== '') block.input = parseInput(json)
        break
      case 'message_delta': {
        const usage = { ...(message.usage as JsonObject), ...(event.usage as JsonObject) }
        message = { ...message, ...(event.delta as JsonObject), usage }
        break
      }
    }
  }
  return { ...message, content: blocks }
}

/** Text and lists are appended to; for everything else the last value counts. */
function addPieces(block: JsonObject, pieces: JsonObject): void {
  for (const [name, value] of Object.entries(pieces)) {
    const before = block[name]
    if (typeof before === 'string' && typeof value === 'string') block[name] = before + value
    else if (value !== null) block[name] = value
  }
}

function noDelta(): never {
  throw new EngineError('engine_failed', 'the model server sent an empty piece of an answer')
}

function requireText(piece: unknown): string {
  if (typeof piece === 'string') return piece
  throw new EngineError('engine_failed', 'the model server sent a piece of a call that is not text')
}

function parseInput(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new EngineError('engine_failed', 'the model server sent a call that is not JSON')
  }
}
