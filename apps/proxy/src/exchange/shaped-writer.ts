/**
 * Writes a stream to a client that only speaks HTTPS: as many bytes as each sealed frame had,
 * whatever the content. Events are padded with comments, which readers of event streams skip
 * (WHATWG HTML 9.2.6), and a JSON body with white space.
 */

import { releaseBehind } from '@privatemode/http'
import { HeldEnding } from '@privatemode/protocol/api'
import { type AnswerParts, type AnswerWriter, errorEvent, refusalEvent } from './answer-writer.ts'
import { formatResponseHead } from './response-head.ts'
import { classOf, type ShapedLeg } from './shaped-leg.ts'

export function createShapedWriter(
  { exchange, dialect, record, headers }: AnswerParts,
  leg: ShapedLeg,
  now = () => performance.now(),
): AnswerWriter {
  const isEvents = headers['content-type']?.startsWith('text/event-stream') === true
  const filler = isEvents ? commentOf : spacesOf
  const ending = new HeldEnding(leg.held)
  let ready: Uint8Array[] = []
  let owedBytes = 0
  const beginAtMs = record.startedMs + leg.firstByteAfterMs
  let refusal: Uint8Array[] | undefined

  function send(pieces: readonly Uint8Array[], size: number): boolean {
    record.sent(size)
    if (exchange.begun) return exchange.writeChunk(pieces)
    return exchange.beginChunks(formatResponseHead(record.status, headers), pieces)
  }

  function queue(pieces: readonly Uint8Array[]): void {
    if (refusal !== undefined) {
      for (const piece of pieces) refusal.push(copyOf(piece))
      return
    }
    // White space within a JSON body could be inside a string: all of it waits for the end.
    for (const piece of pieces) ready.push(...(isEvents ? ending.push(piece) : [copyOf(piece)]))
  }

  /** Takes waiting bytes up to a limit; the rest is copied out of the frame it came in. */
  function take(most: number): { taken: Uint8Array[]; size: number } {
    const taken: Uint8Array[] = []
    let size = 0
    const kept: Uint8Array[] = []
    for (const piece of ready) {
      const part = piece.subarray(0, most - size)
      if (part.length > 0) taken.push(part)
      size += part.length
      if (part.length < piece.length) kept.push(new Uint8Array(piece.subarray(part.length)))
    }
    ready = kept
    return { taken, size }
  }

  /** Sends as many bytes as arrived, whatever the content; whole events, so that a comment may follow. */
  function fill(): boolean {
    const length = owedBytes
    owedBytes = 0
    const { taken, size } = isEvents ? take(length) : nothing
    return send([...taken, ...filler(length - size)], length)
  }

  /** The last bytes, padded to one of few lengths. */
  function close(last: readonly Uint8Array[]): void {
    const { taken, size } = take(Number.POSITIVE_INFINITY)
    const pieces = [...taken, ...last]
    const length = last.reduce((sum, piece) => sum + piece.length, size)
    const padded = classOf(length, leg.leastTailBytes, tailGrowth)
    send([...pieces, ...filler(padded - length)], padded)
    exchange.endChunks()
  }

  return {
    write(pieces, openedBytes) {
      queue(pieces)
      owedBytes += openedBytes
      if (now() < beginAtMs) {
        ready = ready.map(copyOf)
        for (const piece of pieces) releaseBehind(piece)
        return true
      }
      const isOpen = fill()
      for (const piece of pieces) releaseBehind(piece)
      return isOpen
    },
    // The client must not be notified earlier: it would close, or send its next request, visibly.
    mayEnd: () => false,
    end(pieces, openedBytes) {
      queue(pieces)
      // On a busy machine, many frames arrive in one piece with the end: they count like all others.
      owedBytes += openedBytes
      if (owedBytes > 0) fill()
      const last = isEvents ? ending.rest() : []
      close(refusal === undefined ? last : [...last, refusalEvent(dialect, refusal)])
    },
    turnToError() {
      refusal = []
    },
    lose(error) {
      // Mid-answer, the status cannot change: send an error event, or a body that is not valid JSON.
      if (isEvents) close([errorEvent(dialect, error, record.requestId)])
      else if (exchange.begun) exchange.cut()
      else return false
      return true
    },
    drop() {
      ready = []
    },
  }
}

/** The `slice` of a buffer would share the memory of the frame, which is about to be freed. */
const copyOf = (piece: Uint8Array) => new Uint8Array(piece)

const tailGrowth = 4
const nothing = { taken: [], size: 0 } as const
const longestFiller = 256 * 1024
const spaces = new Uint8Array(longestFiller).fill(0x20)
const lineFeed = Uint8Array.of(0x0a)
const emptyLine = Uint8Array.of(0x0a, 0x0a)
const comments = new Uint8Array(longestFiller).fill(0x2e)
comments[0] = 0x3a

/** Comments with this total length, each with the empty line that some readers wait for. */
function commentOf(length: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  let left = length
  for (; left > emptyLine.length; ) {
    const size = Math.min(left, longestFiller)
    parts.push(comments.subarray(0, size - emptyLine.length), emptyLine)
    left -= size
  }
  for (; left > 0; left--) parts.push(lineFeed)
  return parts
}

function spacesOf(length: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let left = length; left > 0; left -= longestFiller) {
    parts.push(spaces.subarray(0, Math.min(left, longestFiller)))
  }
  return parts
}
