/**
 * The certificates that a host supplies with an SEV-SNP report (GHCB specification, extended
 * request).
 */
import { parsePem } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import { unavailable } from './fetch-document.ts'

/** DER by kind; the host decides which ones it supplies. */
export type CertificateTable = { readonly [Kind in TableKind]?: Bytes }

type TableKind = 'vcek' | 'vlek' | 'ask' | 'ark' | 'crl'

const kinds: Readonly<Record<string, TableKind>> = {
  '63da758de6644564adc5f4b93be8accd': 'vcek',
  a8074bc2a25a483eaae639c045a0b8a1: 'vlek',
  '4ab7b379bbac4fe4a02f05aef327c782': 'ask',
  c0b406a4a803495297433fb6014cd0ae: 'ark',
  '92f81bc358114d3d97ffd19f88dc67ea': 'crl',
}
const entryBytes = 24
const maxEntries = 32

/** Skips entries of unknown kinds; throws on an entry that points outside the table. */
export function parseCertificateTable(table: Bytes): CertificateTable {
  const found: { [Kind in TableKind]?: Bytes } = {}
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength)
  for (let index = 0; table.length > 0; index++) {
    const start = index * entryBytes
    if (index === maxEntries || start + entryBytes > table.length) {
      throw unavailable("the host's certificate table is not terminated")
    }
    const guid = Buffer.from(table.subarray(start, start + 16)).toString('hex')
    if (/^0+$/.test(guid)) break
    const offset = view.getUint32(start + 16, true)
    const length = view.getUint32(start + 20, true)
    if (offset + length > table.length) {
      throw unavailable(`entry ${index} of the certificate table is out of bounds`)
    }
    const kind = Object.hasOwn(kinds, guid) ? kinds[guid] : undefined
    if (kind === undefined || length === 0) continue
    if (found[kind] !== undefined)
      throw unavailable(`the certificate table has two ${kind} entries`)
    found[kind] = toDer(table.slice(offset, offset + length))
  }
  return found
}

/** Host tools store certificates as supplied, and some supply PEM. */
function toDer(bytes: Bytes): Bytes {
  const text = new TextDecoder().decode(bytes.subarray(0, 10))
  if (text !== '-----BEGIN') return bytes
  const [der] = parsePem(new TextDecoder().decode(bytes))
  return der ?? bytes
}
