/** Formats a GGUF file, version 3: header, metadata, tensor table, then aligned tensor data. */

export type GgufValue =
  | { readonly kind: 'uint32'; readonly value: number }
  | { readonly kind: 'float32'; readonly value: number }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'ints'; readonly value: readonly number[] }

export type GgufTensorKind = 'F32' | 'F16' | 'Q8_0'

export type GgufTensor = {
  readonly name: string
  /** Innermost dimension first, as in GGUF: the reverse of a row-major shape. */
  readonly dimensions: readonly number[]
  readonly kind: GgufTensorKind
  readonly data: Uint8Array
}

const valueTypes = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const
const tensorTypes: Record<GgufTensorKind, number> = { F32: 0, F16: 1, Q8_0: 8 }
const alignment = 32

/** The pieces of the file in order; the same input always yields the same bytes. */
export function formatGguf(
  metadata: readonly (readonly [string, GgufValue])[],
  tensors: readonly GgufTensor[],
): Uint8Array[] {
  const head = new ByteWriter()
  head.ascii('GGUF')
  head.uint32(3)
  head.uint64(tensors.length)
  head.uint64(metadata.length)
  for (const [key, value] of metadata) {
    head.string(key)
    writeValue(head, value)
  }
  let offset = 0
  for (const tensor of tensors) {
    head.string(tensor.name)
    head.uint32(tensor.dimensions.length)
    for (const length of tensor.dimensions) head.uint64(length)
    head.uint32(tensorTypes[tensor.kind])
    head.uint64(offset)
    offset += tensor.data.length + paddingAfter(tensor.data.length)
  }
  head.zeros(paddingAfter(head.length))
  return [
    head.bytes(),
    ...tensors.flatMap(({ data }) => [data, new Uint8Array(paddingAfter(data.length))]),
  ]
}

function writeValue(head: ByteWriter, value: GgufValue): void {
  switch (value.kind) {
    case 'uint32':
      head.uint32(valueTypes.uint32)
      head.uint32(value.value)
      return
    case 'float32':
      head.uint32(valueTypes.float32)
      head.float32(value.value)
      return
    case 'bool':
      head.uint32(valueTypes.bool)
      head.uint8(value.value ? 1 : 0)
      return
    case 'string':
      head.uint32(valueTypes.string)
      head.string(value.value)
      return
    case 'strings':
      head.array(valueTypes.string, value.value.length)
      for (const item of value.value) head.string(item)
      return
    case 'floats':
      head.array(valueTypes.float32, value.value.length)
      for (const item of value.value) head.float32(item)
      return
    case 'ints':
      head.array(valueTypes.int32, value.value.length)
      for (const item of value.value) head.uint32(item >>> 0)
      return
  }
}

const paddingAfter = (length: number): number => (alignment - (length % alignment)) % alignment

/** A growing buffer of little-endian bytes. */
class ByteWriter {
  #buffer = new Uint8Array(1 << 16)
  #view = new DataView(this.#buffer.buffer)
  #length = 0

  get length(): number {
    return this.#length
  }

  bytes(): Uint8Array {
    return this.#buffer.slice(0, this.#length)
  }

  uint8(value: number): void {
    const at = this.#grow(1)
    this.#view.setUint8(at, value)
  }

  uint32(value: number): void {
    const at = this.#grow(4)
    this.#view.setUint32(at, value, true)
  }

  uint64(value: number): void {
    const at = this.#grow(8)
    this.#view.setBigUint64(at, BigInt(value), true)
  }

  float32(value: number): void {
    const at = this.#grow(4)
    this.#view.setFloat32(at, value, true)
  }

  ascii(text: string): void {
    const bytes = new TextEncoder().encode(text)
    const at = this.#grow(bytes.length)
    this.#buffer.set(bytes, at)
  }

  string(text: string): void {
    const bytes = new TextEncoder().encode(text)
    this.uint64(bytes.length)
    const at = this.#grow(bytes.length)
    this.#buffer.set(bytes, at)
  }

  array(type: number, length: number): void {
    this.uint32(valueTypes.array)
    this.uint32(type)
    this.uint64(length)
  }

  zeros(count: number): void {
    this.#grow(count)
  }

  /** Where the next bytes go; the buffer may be replaced. */
  #grow(count: number): number {
    const at = this.#length
    this.#length += count
    if (this.#length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#buffer.length * 2))
      larger.set(this.#buffer)
      this.#buffer = larger
      this.#view = new DataView(larger.buffer)
    }
    return at
  }
}
