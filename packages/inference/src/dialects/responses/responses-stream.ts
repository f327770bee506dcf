/** Chat chunks as response events: one item at a time, numbered consecutively. */
import type { ApiError } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import type { ChatChunks } from '../openai/chat-chunks.ts'
import type { StreamWriter } from '../stream-answer.ts'
import type { Usage } from '../usage-meter.ts'
import { type OpenItem, openCall, openMessage, openReasoningItem } from './open-items.ts'
import { finishedResponse, kindOf, type ResponseContext, responseHead } from './response-object.ts'

export class ResponsesStream implements StreamWriter {
  readonly ping = ': keep-alive\n\n'
  readonly #chunks: ChatChunks
  readonly #context: ResponseContext
  readonly #usage: () => Usage
  readonly #head: JsonObject
  readonly #output: JsonObject[] = []
  #hasStarted = false
  #open: OpenItem | undefined
  #lastTool = -1
  #heldSpace = ''
  #sequence = 0
  #finishReason: unknown

  constructor(chunks: ChatChunks, context: ResponseContext, usage: () => Usage) {
    this.#chunks = chunks
    this.#context = context
    this.#usage = usage
    this.#head = responseHead(context)
  }

  write(chunk: JsonObject): string {
    const choice = this.#chunks.normalize(chunk)[0]
    if (choice === undefined) return ''
    const delta = choice.delta as JsonObject
    let events = this.#start()
    if (isFull(delta.reasoning)) {
      events += this.#ensure('reasoning', () => openReasoningItem(this.#context))
      events += this.#delta(delta.reasoning)
    }
    if (isFull(delta.content)) events += this.#text(delta.content)
    if (Array.isArray(delta.tool_calls))
      for (const call of delta.tool_calls) events += this.#call(call)
    if (choice.finish_reason !== null) this.#finishReason = choice.finish_reason
    return events
  }

  end(): string {
    this.#chunks.requireFinished()
    const events = this.#close()
    const { lastUsage } = this.#chunks
    const response = finishedResponse(
      this.#head,
      this.#output,
      this.#finishReason,
      this.#usage(),
      lastUsage,
    )
    const type = response.status === 'completed' ? 'response.completed' : 'response.incomplete'
    return events + this.#event({ type, response })
  }

  fail(error: ApiError): string {
    const failed = { code: error.code, message: error.message }
    const response = { ...this.#head, status: 'failed', error: failed, output: this.#output }
    return this.#start() + this.#event({ type: 'response.failed', response })
  }

  #start(): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    return (
      this.#event({ type: 'response.created', response: this.#head }) +
      this.#event({ type: 'response.in_progress', response: this.#head })
    )
  }

  /** White space alone opens no item: models emit it between reasoning and a tool call. */
  #text(content: string): string {
    const text = this.#heldSpace + content
    if (this.#open?.name !== 'message' && text.trim() === '') {
      this.#heldSpace = text
      return ''
    }
    this.#heldSpace = ''
    return this.#ensure('message', openMessage) + this.#delta(text)
  }

  #call(call: JsonObject): string {
    const index = call.index as number
    const named: JsonObject = isObject(call.function) ? call.function : {}
    const name = `call ${index}`
    // A closed item cannot continue, and its content must not get lost.
    if (this.#open?.name !== name && index <= this.#lastTool)
      throw new EngineError('engine_failed', 'the engine interleaved two tool calls')
    this.#lastTool = index
    const opening = this.#ensure(name, () => {
      return openCall(name, kindOf(named.name, this.#context), call.id, named.name)
    })
    return isFull(named.arguments) ? opening + this.#delta(named.arguments) : opening
  }

  #ensure(name: string, open: () => OpenItem): string {
    if (this.#open?.name === name) return ''
    const closing = this.#close()
    this.#open = open()
    return closing + this.#events(this.#open.opening())
  }

  #delta(text: string): string {
    return this.#open === undefined ? '' : this.#events(this.#open.delta(text))
  }

  #close(): string {
    this.#heldSpace = ''
    if (this.#open === undefined) return ''
    const { item, events } = this.#open.closing()
    const text = this.#events([...events, { type: 'response.output_item.done', item }])
    this.#output.push(item)
    this.#open = undefined
    return text
  }

  #events(events: readonly JsonObject[]): string {
    const output_index = this.#output.length
    return events.map((data) => this.#event({ ...data, output_index })).join('')
  }

  #event(data: JsonObject): string {
    const numbered = { ...data, sequence_number: this.#sequence++ }
    return `event: ${data.type}\ndata: ${JSON.stringify(numbered)}\n\n`
  }
}

function isFull(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
