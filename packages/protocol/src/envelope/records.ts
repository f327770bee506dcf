/**
 * Records: the content of frames. First one head, then data, finally one end; zeros pad the rest. A
 * frame has at most one data record with bytes, so a short frame cannot hold many records. An empty
 * data record marks the body as complete: only zeros and the end may follow it.
 */
import { readUint32, writeUint32 } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'
import type { OpenedFrame } from './frames.ts'

export type Record =
  | { readonly kind: 'head'; readonly bytes: Bytes }
  | { readonly kind: 'data'; readonly bytes: Bytes }
  | { readonly kind: 'end'; readonly bytes: Bytes }

export const recordOverhead = 5
const padding = 0
const kinds = ['padding', 'head', 'data', 'end'] as const
const codes = { head: 1, data: 2, end: 3 } as const
type State = 'before-head' | 'body' | 'whole' | 'ended'
const allowed: { readonly [state in State]: readonly Record['kind'][] } = {
  'before-head': ['head'],
  body: ['data', 'end'],
  whole: ['end'],
  ended: [],
}

export function recordHeader(kind: Record['kind'], length: number): Bytes {
  const header = new Uint8Array(recordOverhead)
  header[0] = codes[kind]
  writeUint32(header, 1, length)
  return header
}

/** Reads the records of frames in order and enforces their order across frames. */
export class RecordReader {
  #state: State = 'before-head'

  read(frame: OpenedFrame): Record[] {
    const records: Record[] = []
    const { plaintext } = frame
    let offset = 0
    let hasData = false
    while (offset < plaintext.length) {
      const code = plaintext[offset]
      if (code === padding) {
        requireZeros(plaintext, offset)
        break
      }
      const record = readRecord(plaintext, offset)
      this.#advance(record)
      if (record.kind === 'data' && record.bytes.length > 0) {
        if (hasData) throw new EnvelopeError('malformed', 'a frame has more than one data record')
        hasData = true
      }
      records.push(record)
      offset += recordOverhead + record.bytes.length
    }
    if (frame.last !== (this.#state === 'ended')) {
      throw new EnvelopeError('malformed', 'the end record and the last frame do not coincide')
    }
    return records
  }

  #advance({ kind, bytes }: Record): void {
    if (!allowed[this.#state].includes(kind)) {
      throw new EnvelopeError('malformed', `unexpected ${kind} record`)
    }
    if (kind === 'end') this.#state = 'ended'
    else this.#state = kind === 'data' && bytes.length === 0 ? 'whole' : 'body'
  }
}

function readRecord(plaintext: Bytes, offset: number): Record {
  const kind = kinds[plaintext[offset] ?? 0]
  if (kind === undefined || kind === 'padding') {
    throw new EnvelopeError('malformed', 'unknown record kind')
  }
  const start = offset + recordOverhead
  const end = start + readUint32(plaintext, offset + 1)
  if (end > plaintext.length)
    throw new EnvelopeError('malformed', 'a record extends beyond its frame')
  return { kind, bytes: plaintext.subarray(start, end) }
}

/** Padding is most of a shaped stream, so it is checked two words at a time. */
function requireZeros(plaintext: Bytes, offset: number): void {
  const { buffer, byteOffset, length } = plaintext
  const view = new DataView(buffer, byteOffset, length)
  let at = offset
  let seen = 0
  for (; at + 8 <= length; at += 8) seen |= view.getInt32(at, true) | view.getInt32(at + 4, true)
  for (; at < length; at++) seen |= plaintext[at] ?? 0
  if (seen !== 0) throw new EnvelopeError('malformed', 'padding is not zero')
}
