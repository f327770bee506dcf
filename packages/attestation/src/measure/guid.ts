/** GUIDs as firmware stores them: the first three groups are little-endian. */
import { type Bytes, formatHex } from '../bytes.ts'

export const guidBytes = 16
const storedOrder = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]

export function parseGuid(text: string): Bytes {
  const digits = text.replaceAll('-', '')
  const bytes = new Uint8Array(guidBytes)
  storedOrder.forEach((from, to) => {
    bytes[to] = Number.parseInt(digits.slice(from * 2, from * 2 + 2), 16)
  })
  return bytes
}

export function formatGuid(bytes: Uint8Array, offset: number): string {
  const shown = Uint8Array.from(storedOrder, (from) => bytes[offset + from] ?? 0)
  const hex = formatHex(shown)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
