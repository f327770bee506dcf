/** Writes an opened answer to the client: whole once its end is authentic, or event by event. */
import { type Exchange, releaseOwnBytes } from '@privatemode/http'
import {
  ApiError,
  type Dialect,
  encodeComment,
  encodeEvent,
  formatErrorBody,
} from '@privatemode/protocol/api'
import type { App } from './app-state.ts'
import { EventCutter } from './event-cutter.ts'
import type { RequestRecord } from './request-record.ts'
import { formatResponseHead } from './response-head.ts'

export type AnswerWriter = {
  /**
   * Takes what was opened, also nothing: a stream then shows its head. False if the client is slow.
   * The pieces and the memory that they lie in are the writer's from then on.
   */
  write(pieces: readonly Uint8Array[]): boolean
  /** The authenticated end was seen, after what is given here. */
  end(pieces: readonly Uint8Array[]): void
  /** There will be no authentic end. True if the client could be told in mid-answer. */
  lose(error: ApiError): boolean
  /** The client is gone. */
  drop(): void
}

export type AnswerParts = {
  readonly app: App
  readonly exchange: Exchange
  readonly dialect: Dialect
  readonly record: RequestRecord
  readonly headers: Readonly<Record<string, string>>
}

const longestWholeBytes = 256 * 1024 * 1024

/** Held until its end: an answer that was cut is an error, never a short answer. */
export function createWholeWriter({ exchange, record, headers }: AnswerParts): AnswerWriter {
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
    end(more) {
      hold(more)
      const only = pieces[0]
      const body =
        pieces.length === 1 && only !== undefined ? asBuffer(only) : Buffer.concat(pieces)
      record.sent(size)
      record.dump?.end(record.requestId, record.status, headers, [body])
      const head = `${formatResponseHead(record.status, headers)}content-length: ${size}\r\n`
      exchange.begin(head, { bytes: body, start: 0, end: size })
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

export function createEventWriter(parts: AnswerParts): AnswerWriter {
  const { app, exchange, dialect, record, headers } = parts
  const cutter = new EventCutter()
  const kept: Uint8Array[] | undefined = record.dump === undefined ? undefined : []
  const silence = app.silence.watch(() => void exchange.writeChunk([keepAlive(dialect)]))

  function note(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) record.sent(piece.length)
    kept?.push(...pieces)
    silence.heard()
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
    silence.end()
    record.dump?.end(record.requestId, record.status, headers, kept ?? [])
  }

  /** They have been copied to where they go: the next frame can have their memory while it is still in the caches. */
  function release(pieces: readonly Uint8Array[]): void {
    if (kept === undefined) for (const piece of pieces) releaseOwnBytes(piece)
  }

  return {
    write(pieces) {
      const isTaken = send(cut(pieces))
      release(pieces)
      return isTaken
    },
    end(pieces) {
      const rest = [...cut(pieces), ...cutter.rest()]
      // The last events and the end of the transfer are one write, too.
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

function errorEvent(dialect: Dialect, error: ApiError, requestId: string): Uint8Array {
  const body = JSON.stringify(formatErrorBody(dialect, error, requestId))
  return encodeEvent(body, dialect === 'anthropic' ? 'error' : undefined)
}

function keepAlive(dialect: Dialect): Uint8Array {
  return dialect === 'anthropic'
    ? encodeEvent('{"type": "ping"}', 'ping')
    : encodeComment('waiting')
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
