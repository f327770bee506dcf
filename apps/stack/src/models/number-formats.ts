/** Number formats of model files: half floats and Q8_0 quantization. */

/** IEEE 754 binary16 of one float32, rounded to nearest even. */
export function halfFromFloat(value: number): number {
  view.setFloat32(0, value)
  const bits = view.getUint32(0)
  const sign = (bits >>> 16) & 0x8000
  const exponent = (bits >>> 23) & 0xff
  const fraction = bits & 0x7fffff
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200)
  const shifted = exponent - 127 + 15
  if (shifted >= 0x1f) return sign | 0x7c00
  if (shifted > 0) return sign | roundBits((shifted << 23) | fraction, 13)
  if (shifted < -10) return sign
  return sign | roundBits(fraction | 0x800000, 14 - shifted)
}

/** The exact float32 value of a binary16. */
export function floatFromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** Widens little-endian half floats to little-endian float32, as GGUF requires for norms and biases. */
export function widenHalves(halves: Uint8Array): Uint8Array {
  const from = new DataView(halves.buffer, halves.byteOffset, halves.byteLength)
  const wide = new Uint8Array(halves.length * 2)
  const to = new DataView(wide.buffer)
  for (let at = 0; at < halves.length; at += 2)
    to.setFloat32(at * 2, floatFromHalf(from.getUint16(at, true)), true)
  return wide
}

const blockValues = 32
const blockBytes = 34

/** ggml's Q8_0: blocks of 32 values, each a half-float scale and 32 signed bytes. */
export function quantiseQ8(values: Float32Array): Uint8Array {
  if (values.length % blockValues !== 0)
    throw new RangeError(`Q8_0 takes multiples of ${blockValues} values, not ${values.length}`)
  const out = new Uint8Array((values.length / blockValues) * blockBytes)
  const to = new DataView(out.buffer)
  for (let block = 0; block * blockValues < values.length; block++) {
    const from = values.subarray(block * blockValues, (block + 1) * blockValues)
    let largest = 0
    for (const value of from) largest = Math.max(largest, Math.abs(value))
    const scale = Math.fround(largest / 127)
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale)
    const at = block * blockBytes
    to.setUint16(at, halfFromFloat(scale), true)
    for (let i = 0; i < blockValues; i++)
      to.setInt8(at + 2 + i, roundAwayFromZero(Math.fround((from[i] ?? 0) * inverse)))
  }
  return out
}

const view = new DataView(new ArrayBuffer(4))

const roundAwayFromZero = (value: number): number =>
  Math.sign(value) * Math.floor(Math.abs(value) + 0.5)

/** Drops `count` low bits, rounding to nearest, ties to even; a carry into the exponent is correct. */
function roundBits(bits: number, count: number): number {
  const kept = bits >>> count
  const dropped = bits & ((1 << count) - 1)
  const half = 1 << (count - 1)
  return dropped > half || (dropped === half && (kept & 1) === 1) ? kept + 1 : kept
}
