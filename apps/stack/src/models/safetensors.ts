/** Parses the safetensors format: a JSON table of tensors, then their bytes. */
import { ModelError } from './model-error.ts'

export type Safetensor = {
  readonly dtype: string
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

const longestHeader = 100_000_000 // the limit of the format itself

export function parseSafetensors(file: Uint8Array): Map<string, Safetensor> {
  if (file.length < 8) throw malformed('it is too short')
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const headerBytes = view.getBigUint64(0, true)
  if (headerBytes > longestHeader || 8 + Number(headerBytes) > file.length)
    throw malformed('its header is longer than the file')
  const dataFrom = 8 + Number(headerBytes)
  const header = parseJson(file.subarray(8, dataFrom))
  if (typeof header !== 'object' || header === null) throw malformed('its header is not an object')
  const tensors = new Map<string, Safetensor>()
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue
    if (!isEntry(entry)) throw malformed(`the entry of ${name} is wrong`)
    const [from, to] = entry.data_offsets
    if (from < 0 || to < from || dataFrom + to > file.length)
      throw malformed(`the data of ${name} is outside the file`)
    const data = file.subarray(dataFrom + from, dataFrom + to)
    tensors.set(name, { dtype: entry.dtype, shape: entry.shape, data })
  }
  return tensors
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw malformed('its header is not JSON')
  }
}

type Entry = { dtype: string; shape: number[]; data_offsets: [number, number] }

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false
  const { dtype, shape, data_offsets: offsets } = value as Partial<Entry>
  const numbers = (list: unknown): boolean => Array.isArray(list) && list.every(Number.isInteger)
  return typeof dtype === 'string' && numbers(shape) && numbers(offsets) && offsets?.length === 2
}

const malformed = (why: string): ModelError =>
  new ModelError('source_malformed', `this is not a safetensors file: ${why}`)
