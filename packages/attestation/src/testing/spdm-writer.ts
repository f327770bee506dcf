/** Writes SPDM measurement reports for tests, valid or deliberately wrong. */
import { type Bytes, concatBytes } from '../bytes.ts'

export type MeasurementPart = {
  readonly index: number
  readonly value: Uint8Array
  readonly spec?: number
  readonly valueType?: number
  /** The size that the block claims, if it should be wrong. */
  readonly size?: number
}

export type OpaquePart = {
  readonly type: number
  readonly value: Uint8Array
  readonly size?: number
}

export type ReportParts = {
  readonly nonce: Uint8Array
  readonly measurements: readonly MeasurementPart[]
  readonly opaque: readonly OpaquePart[]
  readonly blockCount?: number
}

/** Everything before the signature. */
export function writeReport(parts: ReportParts): Bytes {
  const record = concatBytes(...parts.measurements.map(writeMeasurement))
  const opaque = concatBytes(
    ...parts.opaque.map(({ type, value, size = value.length }) =>
      concatBytes(uint(type, 2), uint(size, 2), value),
    ),
  )
  return concatBytes(
    Uint8Array.of(0x11, 0xe0, 0x01, 0xff),
    parts.nonce,
    Uint8Array.of(0),
    Uint8Array.of(0x11, 0x60, 0, 0, parts.blockCount ?? parts.measurements.length),
    uint(record.length, 3),
    record,
    new Uint8Array(32).fill(0xa5),
    uint(opaque.length, 2),
    opaque,
  )
}

function writeMeasurement({ index, value, spec = 1, valueType = 1, size }: MeasurementPart): Bytes {
  return concatBytes(
    Uint8Array.of(index, spec),
    uint(size ?? value.length + 3, 2),
    Uint8Array.of(valueType),
    uint(value.length, 2),
    value,
  )
}

const uint = (value: number, length: number): Bytes =>
  Uint8Array.from({ length }, (_, index) => (value >>> (8 * index)) & 0xff)
