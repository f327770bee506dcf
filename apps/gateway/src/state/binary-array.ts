/**
 * Arrays in PostgreSQL's binary form, as values of a query.
 *
 * Reading many rows from JSON costs the database more than storing them; this form costs a third.
 */

/** Object ids of the types in `pg_type`, which never change. */
const elements = { smallint: 21, integer: 23, text: 25, timestamptz: 1184, uuid: 2950 } as const

/** Object ids of the arrays of these types. */
export const arrayTypes: readonly number[] = [1005, 1007, 1009, 1185, 2951]

const headBytes = 20
/** PostgreSQL counts microseconds from the year 2000. */
const epochMs = Date.UTC(2000, 0, 1)

export const smallintArray = (values: readonly number[]): Buffer =>
  fixedArray('smallint', 2, values, (bytes, value, at) => bytes.writeInt16BE(value, at))

export const integerArray = (values: readonly number[]): Buffer =>
  fixedArray('integer', 4, values, (bytes, value, at) => bytes.writeInt32BE(value, at))

/** Milliseconds since 1970. */
export const timeArray = (valuesMs: readonly number[]): Buffer =>
  fixedArray('timestamptz', 8, valuesMs, (bytes, value, at) =>
    bytes.writeBigInt64BE(BigInt(value - epochMs) * 1000n, at),
  )

/** Each is 32 hex digits, without hyphens. */
export const uuidArray = (values: readonly string[]): Buffer =>
  fixedArray('uuid', 16, values, (bytes, value, at) => {
    if (bytes.write(value, at, 16, 'hex') !== 16) throw new TypeError('not the digits of a UUID')
  })

export function textArray(values: readonly string[]): Buffer {
  // Most columns of a batch repeat one value.
  let [previous, previousBytes] = ['', Buffer.alloc(0)]
  const encoded = values.map((value) => {
    if (value !== previous) [previous, previousBytes] = [value, Buffer.from(value)]
    return previousBytes
  })
  const size = encoded.reduce((sum, { length }) => sum + 4 + length, 0)
  const bytes = newArray('text', values.length, size)
  let at = headBytes
  for (const value of encoded) {
    at = bytes.writeInt32BE(value.length, at)
    at += value.copy(bytes, at)
  }
  return bytes
}

function fixedArray<T>(
  type: keyof typeof elements,
  elementBytes: number,
  values: readonly T[],
  write: (bytes: Buffer, value: T, at: number) => void,
): Buffer {
  const bytes = newArray(type, values.length, values.length * (4 + elementBytes))
  let at = headBytes
  for (const value of values) {
    at = bytes.writeInt32BE(elementBytes, at)
    write(bytes, value, at)
    at += elementBytes
  }
  return bytes
}

/** The head of an array of one dimension without nulls: dimensions, flags, type, length, first index. */
function newArray(type: keyof typeof elements, length: number, size: number): Buffer {
  const bytes = Buffer.alloc(headBytes + size)
  for (const [index, value] of [1, 0, elements[type], length, 1].entries())
    bytes.writeInt32BE(value, index * 4)
  return bytes
}
