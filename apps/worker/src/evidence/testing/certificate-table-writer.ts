/** Writes certificate tables as hosts do (GHCB specification), for tests. */
import type { Bytes } from '@privatemode/protocol/envelope'

export const tableGuids = {
  vcek: '63da758de6644564adc5f4b93be8accd',
  vlek: 'a8074bc2a25a483eaae639c045a0b8a1',
  ask: '4ab7b379bbac4fe4a02f05aef327c782',
  ark: 'c0b406a4a803495297433fb6014cd0ae',
  crl: '92f81bc358114d3d97ffd19f88dc67ea',
} as const

/** A table as hosts write it: 24-byte entries, an empty one, then the certificates. */
export function formatTable(entries: readonly (readonly [string, Uint8Array])[]): Bytes {
  const head = 24 * (entries.length + 1)
  const table = new Uint8Array(head + entries.reduce((sum, [, der]) => sum + der.length, 0))
  const view = new DataView(table.buffer)
  let offset = head
  for (const [index, [guid, der]] of entries.entries()) {
    table.set(Buffer.from(guid, 'hex'), 24 * index)
    view.setUint32(24 * index + 16, offset, true)
    view.setUint32(24 * index + 20, der.length, true)
    table.set(der, offset)
    offset += der.length
  }
  return table
}
