/** Parses a CC event log (TCG PC Client Platform Firmware Profile, crypto-agile form) and replays it into RTMRs. */
import { type Bytes, concatBytes } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import { MeasureError } from './measure-error.ts'

export type MeasuredEvent = {
  readonly rtmr: 0 | 1 | 2 | 3
  /** SHA-384. */
  readonly digest: Bytes
}

export type LoggedEvent = {
  /** Measurement register in the log's numbering: 0 is MRTD, 1 to 4 are RTMR0 to RTMR3. */
  readonly register: number
  readonly type: number
  readonly digest: Bytes
  readonly data: Bytes
}

const noAction = 3
const sha384Id = 0x000c
const sha384Bytes = 48
const maxEvents = 4096
const maxEventBytes = 1024 * 1024

export const zeroRegister = (): Bytes => new Uint8Array(sha384Bytes)

/** RTMR = SHA-384(RTMR ‖ digest), from zero. */
export async function foldEvents(events: readonly MeasuredEvent[]): Promise<Bytes[]> {
  const registers: Bytes[] = [0, 1, 2, 3].map(zeroRegister)
  for (const { rtmr, digest } of events) {
    registers[rtmr] = await sha384(concatBytes(registers[rtmr] ?? zeroRegister(), digest))
  }
  return registers
}

/** The events that extend the registers; EV_NO_ACTION is informative and not extended. */
export function measuredEvents(log: readonly LoggedEvent[]): MeasuredEvent[] {
  return log
    .filter(({ type }) => type !== noAction)
    .map(({ register, digest }) => {
      const rtmr = register - 1
      if (rtmr !== 0 && rtmr !== 1 && rtmr !== 2 && rtmr !== 3) {
        return malformed(`an event is for register ${register}`)
      }
      return { rtmr, digest }
    })
}

export function parseEventLog(bytes: Bytes): LoggedEvent[] {
  const reader = new Reader(bytes)
  // The first event has the old form, with an all-zero SHA-1; it lists the digests that the others
  // have.
  reader.u32()
  if (reader.u32() !== noAction) malformed('the log does not start with its description')
  reader.take(20)
  requireSha384(new Reader(reader.take(reader.length())))
  const events: LoggedEvent[] = []
  while (!reader.isAtEnd()) {
    if (events.length === maxEvents) malformed(`the log has more than ${maxEvents} events`)
    const register = reader.u32()
    const type = reader.u32()
    if (reader.u32() !== 1 || reader.u16() !== sha384Id)
      malformed('an event does not have exactly one digest, SHA-384')
    const digest = reader.take(sha384Bytes)
    events.push({ register, type, digest, data: reader.take(reader.length()) })
  }
  return events
}

function requireSha384(description: Reader): void {
  if (new TextDecoder().decode(description.take(16)) !== 'Spec ID Event03\0') {
    malformed('the log is not of the crypto-agile form')
  }
  description.take(8) // platform class, version, size of an integer
  if (description.u32() !== 1) malformed('the log has digests other than SHA-384')
  if (description.u16() !== sha384Id || description.u16() !== sha384Bytes) {
    malformed('the log has digests other than SHA-384')
  }
}

class Reader {
  readonly #bytes: Bytes
  readonly #view: DataView
  #at = 0

  constructor(bytes: Bytes) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  take(length: number): Bytes {
    if (this.#at + length > this.#bytes.length) malformed('the log is cut off')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  u16(): number {
    this.take(2)
    return this.#view.getUint16(this.#at - 2, true)
  }

  u32(): number {
    this.take(4)
    return this.#view.getUint32(this.#at - 4, true)
  }

  length(): number {
    const length = this.u32()
    return length > maxEventBytes ? malformed(`an event has ${length} bytes`) : length
  }

  /** Firmware reserves more space than it uses: zeros or ones fill the rest. */
  isAtEnd(): boolean {
    const rest = this.#bytes.subarray(this.#at)
    const [first] = rest
    if (first === undefined) return true
    return (first === 0 || first === 0xff) && rest.every((byte) => byte === first)
  }
}

function malformed(message: string): never {
  throw new MeasureError('event_log_malformed', message)
}
