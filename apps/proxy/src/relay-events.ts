/** Passes a stream of events on as it is opened: whole events only, and a loss is an event of its own. */
import {
  type ApiError,
  type Dialect,
  encodeComment,
  encodeEvent,
  formatErrorBody,
} from '@privatemode/protocol/api'
import type { Answer } from '@privatemode/sdk'
import { describeError } from '@privatemode/service'
import { toApiError } from './api-error.ts'
import type { App } from './app-state.ts'
import { EventCutter } from './event-cutter.ts'
import type { RequestRecord } from './request-record.ts'

export type Relay = {
  readonly app: App
  readonly answer: Answer
  readonly dialect: Dialect
  readonly record: RequestRecord
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
  /** The answer's headers, for the dump. */
  readonly headers: Readonly<Record<string, string>>
}

/** A direct stream is Bun's own kind: what is written goes to the socket, without a queue in between. */
export function relayEvents(relay: Relay): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    type: 'direct',
    pull: (controller) => pump(relay, controller),
  })
}

async function pump(relay: Relay, controller: ReadableStreamDirectController): Promise<void> {
  const { app, answer, dialect, record, signal } = relay
  const cutter = new EventCutter()
  const kept: Uint8Array[] | undefined = record.dump === undefined ? undefined : []
  const silence = app.silence.watch(() => {
    void send(controller, keepAlive(dialect))
  })

  const write = (bytes: Uint8Array): number | Promise<number> => {
    record.sent(bytes.length)
    kept?.push(bytes)
    silence.heard()
    return send(controller, bytes)
  }

  try {
    for (;;) {
      const pieces = await answer.next()
      if (pieces === undefined) break
      for (const piece of pieces) {
        const events = cutter.push(piece)
        if (events.length === 0) continue
        const written = write(events)
        // A promise is back-pressure: the client reads slower than the worker writes.
        if (typeof written !== 'number') await written
      }
    }
    const rest = cutter.rest()
    if (rest.length > 0) await write(rest)
    record.close('complete', undefined, app.log, app.metrics)
  } catch (error) {
    if (signal.aborted) {
      record.close('aborted', 'client_gone', app.log, app.metrics)
    } else {
      const shown = toApiError(error)
      app.log.debug('stream lost', { requestId: record.requestId, ...describeError(error) })
      await write(errorEvent(dialect, shown, record.requestId))
      record.close('failed', shown.code, app.log, app.metrics)
    }
  } finally {
    silence.end()
    record.dump?.end(record.requestId, record.status, relay.headers, kept ?? [])
    controller.close()
  }
}

function send(
  controller: ReadableStreamDirectController,
  bytes: Uint8Array,
): number | Promise<number> {
  const written = controller.write(bytes)
  if (typeof written !== 'number') return written
  return controller.flush()
}

function errorEvent(dialect: Dialect, error: ApiError, requestId: string): Uint8Array {
  const body = JSON.stringify(formatErrorBody(dialect, error, requestId))
  return encodeEvent(body, dialect === 'anthropic' ? 'error' : undefined)
}

function keepAlive(dialect: Dialect): Uint8Array {
  return dialect === 'anthropic'
    ? encodeEvent('{"type": "ping"}', 'ping')
    : encodeComment('waiting')
}
