/** Chat chunks as message events: one block at a time, with consecutive indices. */
import { formatErrorBody } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import type { ChatChunks } from '../openai/chat-chunks.ts'
import { newId } from '../openai/new-id.ts'
import type { StreamWriter } from '../stream-answer.ts'
import type { Usage } from '../usage-meter.ts'
import { type MessageContext, messageUsage, unsignedSignature } from './message-answer.ts'
import { stopReason } from './stop-reason.ts'

type OpenBlock = { readonly kind: 'thinking' | 'text' | 'tool'; readonly tool: number }

export class MessagesStream implements StreamWriter {
  readonly ping = event('ping', { type: 'ping' })
  readonly #chunks: ChatChunks
  readonly #context: MessageContext
  readonly #usage: () => Usage
  readonly #requestId: string
  #hasStarted = false
  #open: OpenBlock | undefined
  #nextIndex = 0
  #lastTool = -1
  #heldSpace = ''
  #finish: JsonObject | undefined

  constructor(chunks: ChatChunks, context: MessageContext, usage: () => Usage, requestId: string) {
    this.#chunks = chunks
    this.#context = context
    this.#usage = usage
    this.#requestId = requestId
  }

  write(chunk: JsonObject): string {
    const choice = this.#chunks.normalize(chunk)[0]
    if (choice === undefined) return ''
    const delta = choice.delta as JsonObject
    let events = this.#start()
    if (this.#context.withThinking && isFull(delta.reasoning))
      events += this.#thinking(delta.reasoning)
    if (isFull(delta.content)) events += this.#text(delta.content)
    if (Array.isArray(delta.tool_calls))
      for (const call of delta.tool_calls) events += this.#tool(call)
    if (choice.finish_reason !== null) this.#finish = choice
    return events
  }

  end(fitted: boolean): string {
    this.#chunks.requireFinished()
    const delta = stopReason(this.#finish ?? {}, fitted, this.#context.stopSequences)
    return (
      this.#closeBlock() +
      event('message_delta', { type: 'message_delta', delta, usage: messageUsage(this.#usage()) }) +
      event('message_stop', { type: 'message_stop' })
    )
  }

  fail(error: Parameters<StreamWriter['fail']>[0]): string {
    return event('error', formatErrorBody('anthropic', error, this.#requestId))
  }

  #start(): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    const message = {
      id: newId('msg_'),
      type: 'message',
      role: 'assistant',
      model: this.#context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: messageUsage(this.#usage()),
    }
    return event('message_start', { type: 'message_start', message })
  }

  #thinking(thinking: string): string {
    const opening = this.#ensure('thinking', -1, { type: 'thinking', thinking: '', signature: '' })
    return opening + this.#delta({ type: 'thinking_delta', thinking })
  }

  /** White space alone opens no block: models emit it between reasoning and a tool call. */
  #text(content: string): string {
    const text = this.#heldSpace + content
    if (this.#open?.kind !== 'text' && text.trim() === '') {
      this.#heldSpace = text
      return ''
    }
    this.#heldSpace = ''
    return (
      this.#ensure('text', -1, { type: 'text', text: '' }) +
      this.#delta({ type: 'text_delta', text })
    )
  }

  #tool(call: JsonObject): string {
    const index = call.index as number
    const named: JsonObject = isObject(call.function) ? call.function : {}
    const isOpen = this.#open?.kind === 'tool' && this.#open.tool === index
    // A closed block cannot continue, and its content must not get lost.
    if (!isOpen && index <= this.#lastTool)
      throw new EngineError('engine_failed', 'the engine interleaved two tool calls')
    this.#lastTool = index
    const block = { type: 'tool_use', id: call.id, name: named.name, input: {} }
    const opening = isOpen ? '' : this.#ensure('tool', index, block)
    if (!isFull(named.arguments)) return opening
    return opening + this.#delta({ type: 'input_json_delta', partial_json: named.arguments })
  }

  #ensure(kind: OpenBlock['kind'], tool: number, block: JsonObject): string {
    if (this.#open?.kind === kind && this.#open.tool === tool) return ''
    const closing = this.#closeBlock()
    this.#open = { kind, tool }
    const start = { type: 'content_block_start', index: this.#nextIndex, content_block: block }
    return closing + event('content_block_start', start)
  }

  #delta(delta: JsonObject): string {
    const index = this.#nextIndex
    return event('content_block_delta', { type: 'content_block_delta', index, delta })
  }

  #closeBlock(): string {
    this.#heldSpace = ''
    if (this.#open === undefined) return ''
    const signature =
      this.#open.kind === 'thinking'
        ? this.#delta({ type: 'signature_delta', signature: unsignedSignature })
        : ''
    const stop = { type: 'content_block_stop', index: this.#nextIndex }
    this.#open = undefined
    this.#nextIndex++
    return signature + event('content_block_stop', stop)
  }
}

function event(name: string, data: JsonObject): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

function isFull(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
