/** Writes an opened answer to the client: as a whole once its end is authenticated, or event by event. */
import { type HttpExchange, releaseBehind } from '@privatemode/http'
import {
  ApiError,
  type Dialect,
  encodeComment,
  encodeEvent,
  formatErrorBody,
  HeldEnding,
} from '@privatemode/protocol/api'
import type { App } from '../app-state.ts'
import type { RequestRecord } from '../inbound/request-record.ts'
import { EventCutter } from './event-cutter.ts'
import { formatResponseHead } from './response-head.ts'
import { classOf, type ShapedLeg } from './shaped-leg.ts'

export type AnswerWriter = {
  /**
   * Writes opened pieces; with none, a stream still sends its head. Returns false if the client is
   * slow. The writer takes ownership of the pieces and their memory. `openedBytes` includes
   * padding.
   */
  write(pieces: readonly Uint8Array[], openedBytes: number): boolean
  /** Called when the body is complete but padding still arrives: whether the client may get its end now. */
  mayEnd(): boolean
  /** The authenticated end arrived, after these pieces, which had `openedBytes` bytes with padding. */
  end(pieces: readonly Uint8Array[], openedBytes: number): void
  /** What follows is the body of an error: the stream had begun before that was known. */
  turnToError?(): void
  /** There will be no authenticated end. True if the client could be notified mid-answer. */
  lose(error: ApiError): boolean
  /** The client has disconnected. */
  drop(): void
}

export type AnswerParts = {
  readonly app: App
  readonly exchange: HttpExchange
  readonly dialect: Dialect
  readonly record: RequestRecord
  readonly headers: Readonly<Record<string, string>>
}

const longestWholeBytes = 256 * 1024 * 1024

/** Buffers the answer until its end: a truncated answer becomes an error, never a short answer. */
export function createWholeWriter({ app, exchange, record, headers }: AnswerParts): AnswerWriter {
  let pieces: Uint8Array[] = []
  let size = 0
  function hold(more: readonly Uint8Array[]): boolean {
    for (const piece of more) {
      size += piece.length
      pieces.push(piece)
    }
    if (size > longestWholeBytes) {
      throw new ApiError('answer_too_large', `the answer is longer than ${longestWholeBytes} bytes`)
    }
    // A list of many short pieces takes far more memory than their bytes.
    if (pieces.length > 1024 + size / 256) pieces = [Buffer.concat(pieces)]
    return true
  }
  return {
    write: hold,
    // On the way to a plain client, its time would tell how long it took to generate.
    mayEnd: () => app.leg === undefined,
    end(more) {
      hold(more)
      const only = pieces[0]
      const whole =
        pieces.length === 1 && only !== undefined ? asBuffer(only) : Buffer.concat(pieces)
      const body = padWhole(whole, headers, app.leg)
      record.sent(body.length)
      record.dump?.end(record.requestId, record.status, headers, [body])
      const head = `${formatResponseHead(record.status, headers)}content-length: ${body.length}\r\n`
      const isSent = exchange.begin(head, { bytes: body, start: 0, end: body.length })
      if (isSent) for (const piece of pieces) releaseBehind(piece)
      exchange.finish()
    },
    lose() {
      pieces = []
      return false
    },
    drop() {
      pieces = []
    },
  }
}

/** JSON may end with white space: the client-visible length is one that many answers share. */
export function padWhole(
  body: Buffer,
  headers: Readonly<Record<string, string>>,
  leg: ShapedLeg | undefined,
): Buffer {
  if (leg === undefined || headers['content-type']?.startsWith('application/json') !== true) {
    return body
  }
  const padded = Buffer.alloc(classOf(body.length, leg.leastWholeBytes, leg.wholeGrowth), ' ')
  body.copy(padded)
  return padded
}

export function createEventWriter(parts: AnswerParts): AnswerWriter {
  const { app, exchange, dialect, record, headers } = parts
  const cutter = app.shape === 'strict' ? new HeldEnding() : new EventCutter()
  const kept: Uint8Array[] | undefined = record.dump === undefined ? undefined : []
  const heartbeat = app.heartbeats.start(() => void exchange.writeChunk([keepAlive(dialect)]))

  function note(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) record.sent(piece.length)
    kept?.push(...pieces)
    heartbeat.sent()
  }

  function send(pieces: readonly Uint8Array[]): boolean {
    note(pieces)
    if (exchange.begun) return exchange.writeChunk(pieces)
    return exchange.beginChunks(formatResponseHead(record.status, headers), pieces)
  }

  function cut(pieces: readonly Uint8Array[]): Uint8Array[] {
    const events: Uint8Array[] = []
    for (const piece of pieces) {
      for (const part of cutter.push(piece)) events.push(part)
    }
    return events
  }

  function close(): void {
    heartbeat.end()
    record.dump?.end(record.requestId, record.status, headers, kept ?? [])
  }

  /** They have been copied: the next frame can reuse their memory while it is still in the CPU caches. */
  function release(pieces: readonly Uint8Array[]): void {
    if (kept === undefined) for (const piece of pieces) releaseBehind(piece)
  }

  return {
    write(pieces) {
      const isTaken = send(cut(pieces))
      release(pieces)
      return isTaken
    },
    mayEnd: () => true,
    end(pieces) {
      const rest = [...cut(pieces), ...cutter.rest()]
      // The last events and the end of the transfer go into one write, too.
      const isBegun = exchange.begun
      if (isBegun) note(rest)
      else send(rest)
      close()
      exchange.endChunks(isBegun ? rest : [])
      release(pieces)
    },
    lose(error) {
      send([errorEvent(dialect, error, record.requestId)])
      close()
      exchange.endChunks()
      return true
    },
    drop: close,
  }
}

export function errorEvent(dialect: Dialect, error: ApiError, requestId: string): Uint8Array {
  const body = JSON.stringify(formatErrorBody(dialect, error, requestId))
  return encodeEvent(body, dialect === 'anthropic' ? 'error' : undefined)
}

/** An error's body, in the words of its dialect, as an event. */
export function refusalEvent(dialect: Dialect, body: readonly Uint8Array[]): Uint8Array {
  const text = Buffer.concat(body).toString().trim()
  return encodeEvent(text, dialect === 'anthropic' ? 'error' : undefined)
}

function keepAlive(dialect: Dialect): Uint8Array {
  return dialect === 'anthropic'
    ? encodeEvent('{"type": "ping"}', 'ping')
    : encodeComment('waiting')
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
