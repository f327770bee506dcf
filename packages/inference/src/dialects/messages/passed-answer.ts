/** A message that the model server wrote natively, complete or as events, in the same form as all others. */
import { type ApiError, formatErrorBody } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import { newId } from '../openai/new-id.ts'
import type { StreamWriter } from '../stream-answer.ts'
import { dropTransferFields } from '../transfer-fields.ts'
import type { Usage } from '../usage-meter.ts'
import { type MessageContext, messageUsage, unsignedSignature } from './message-answer.ts'

export function passedAnswer(
  answer: JsonObject,
  usage: Usage,
  { model, withThinking }: MessageContext,
): JsonObject {
  const blocks = Array.isArray(answer.content) ? answer.content.filter(isObject) : []
  const content = blocks
    .filter((block) => withThinking || !isThinking(block))
    .map((block) => (isThinking(block) ? { signature: unsignedSignature, ...block } : block))
  return { ...rewritten(answer, model, newId('msg_')), content, usage: messageUsage(usage) }
}

/** The server's own names and its fields for other machines are removed. */
function rewritten(message: JsonObject, model: string, id: string): JsonObject {
  const { stop_reason = null, stop_sequence = null } = dropTransferFields(message)
  const stop = { stop_reason, stop_sequence }
  return { ...message, id, type: 'message', role: 'assistant', model, ...stop }
}

function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/**
 * Passes events on as they arrive, with model, id and counts rewritten, and with the same
 * guarantees as translated ones: one block at a time, consecutive indices, a stop reason before the
 * end.
 */
export class PassedEvents implements StreamWriter {
  readonly ping = event({ type: 'ping' })
  readonly #context: MessageContext
  readonly #usage: () => Usage
  readonly #requestId: string
  #hasStarted = false
  #hasStopped = false
  #open: number | undefined
  #isHidden = false
  #wantsSignature = false
  #hidden = 0
  #next = 0
  #end = ''

  constructor(context: MessageContext, usage: () => Usage, requestId: string) {
    this.#context = context
    this.#usage = usage
    this.#requestId = requestId
  }

  write(data: JsonObject): string {
    dropTransferFields(data)
    switch (data.type) {
      case 'ping':
        return '' // the worker sends its own
      case 'message_start':
        require(!this.#hasStarted && isObject(data.message))
        this.#hasStarted = true
        return event({ ...data, message: this.#head(data.message as JsonObject) })
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop':
        return this.#block(data)
      case 'message_delta':
        require(this.#hasStarted && this.#open === undefined)
        this.#hasStopped ||= isObject(data.delta) && typeof data.delta.stop_reason === 'string'
        return event({ ...data, usage: messageUsage(this.#usage()) })
      case 'message_stop':
        require(this.#hasStopped)
        this.#end = event(data) // held back until the engine has ended as well
        return ''
    }
    return event(data)
  }

  end(): string {
    require(this.#end !== '')
    return this.#end
  }

  fail(error: ApiError): string {
    return event(formatErrorBody('anthropic', error, this.#requestId) as JsonObject, 'error')
  }

  #head(message: JsonObject): JsonObject {
    const usage = messageUsage(this.#usage())
    return { ...rewritten(message, this.#context.model, newId('msg_')), content: [], usage }
  }

  #block(data: JsonObject): string {
    require(this.#hasStarted && !this.#hasStopped)
    if (data.type === 'content_block_start') {
      require(this.#open === undefined && isObject(data.content_block))
      this.#open = this.#next++
      const block = data.content_block as JsonObject
      this.#isHidden = !this.#context.withThinking && isThinking(block)
      this.#wantsSignature = block.type === 'thinking'
      if (this.#isHidden) this.#hidden++
    }
    require(this.#open !== undefined && data.index === this.#open)
    const index = Number(data.index) - this.#hidden
    const signing = this.#sign(data, index)
    if (data.type === 'content_block_stop') this.#open = undefined
    return this.#isHidden ? '' : signing + event({ ...data, index })
  }

  /** Clients expect one signature at the end of thinking; servers without one omit it. */
  #sign({ type, delta }: JsonObject, index: number): string {
    if (isObject(delta) && delta.type === 'signature_delta') this.#wantsSignature = false
    if (type !== 'content_block_stop' || !this.#wantsSignature) return ''
    const signature = { type: 'signature_delta', signature: unsignedSignature }
    return event({ type: 'content_block_delta', index, delta: signature })
  }
}

function require(isTrue: boolean): void {
  if (!isTrue) throw new EngineError('engine_failed', 'the model server sent an incomplete message')
}

function event(data: JsonObject, name = data.type): string {
  if (typeof name !== 'string')
    throw new EngineError('engine_failed', 'the model server sent an event without a name')
  return `event: ${name.replace(/[^\w.]/g, '')}\ndata: ${JSON.stringify(data)}\n\n`
}
