/** A response that the model server wrote natively, complete or as events, in the same form as all others. */
import type { ApiError } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import type { StreamWriter } from '../stream-answer.ts'
import { dropTransferFields } from '../transfer-fields.ts'
import type { Usage } from '../usage-meter.ts'
import { type ResponseContext, responseHead, responseUsage } from './response-object.ts'

export function passedAnswer(answer: JsonObject, usage: Usage, context: ResponseContext) {
  return rewritten(answer, responseHead(context), usage)
}

/** The caller's settings are echoed as the caller sent them, not as they were passed on. */
function rewritten(response: JsonObject, head: JsonObject, usage: Usage): JsonObject {
  // These repeat the prompt and the answer in the server's own form.
  const { input_messages: _, output_messages: __, ...kept } = dropTransferFields(response)
  const { status, output, incomplete_details = null, created_at } = response
  const engineUsage = { completion_tokens_details: usageDetails(response.usage) }
  return {
    ...kept,
    ...head,
    ...{ status, output, incomplete_details, created_at },
    usage: isObject(response.usage) ? responseUsage(usage, engineUsage) : null,
  }
}

function usageDetails(usage: unknown): unknown {
  return isObject(usage) ? usage.output_tokens_details : undefined
}

/** Passes events on as they arrive; the end is sent only once the engine has ended too. */
export class PassedEvents implements StreamWriter {
  readonly ping = ': keep-alive\n\n'
  readonly #usage: () => Usage
  readonly #head: JsonObject
  #sequence = 0
  #hasStarted = false
  #end: JsonObject | undefined

  constructor(context: ResponseContext, usage: () => Usage) {
    this.#usage = usage
    this.#head = responseHead(context)
  }

  write(data: JsonObject): string {
    dropTransferFields(data)
    const { type, response } = data
    const replaced = isObject(response) ? { response: this.#rewritten(response) } : {}
    const event: JsonObject = { ...data, ...replaced }
    if (type === 'response.completed' || type === 'response.incomplete') {
      this.#end = event
      return ''
    }
    this.#hasStarted ||= type === 'response.created'
    return this.#event(event)
  }

  end(): string {
    const status = isObject(this.#end?.response) ? this.#end.response.status : undefined
    const isWhole = status === 'completed' || status === 'incomplete'
    if (!this.#hasStarted || this.#end === undefined || !isWhole)
      throw new EngineError('engine_failed', 'the model server sent an incomplete response')
    // Servers mark a truncated answer as completed; clients rely on the event name.
    return this.#event({ ...this.#end, type: `response.${status}` })
  }

  fail(error: ApiError): string {
    const failed = { code: error.code, message: error.message }
    const response = { ...this.#head, status: 'failed', error: failed }
    const created = { type: 'response.created', response: this.#head }
    const start = this.#hasStarted ? '' : this.#event(created)
    return start + this.#event({ type: 'response.failed', response })
  }

  #rewritten(response: JsonObject): JsonObject {
    return rewritten(response, this.#head, this.#usage())
  }

  #event(data: JsonObject): string {
    if (typeof data.type !== 'string')
      throw new EngineError('engine_failed', 'the model server sent an event without a name')
    const name = data.type.replace(/[^\w.]/g, '')
    const numbered = { ...data, sequence_number: this.#sequence++ }
    return `event: ${name}\ndata: ${JSON.stringify(numbered)}\n\n`
  }
}
