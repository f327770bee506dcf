import { expect, test } from 'bun:test'
import { formatPem } from '../../../../../packages/attestation/src/testing/nvidia-world.ts'
import { formatTable, tableGuids } from '../testing/certificate-table-writer.ts'
import { parseCertificateTable } from './certificate-table.ts'

const der = Uint8Array.of(0x30, 1, 2)

test('every kind of entry is found, unknown ones are skipped', () => {
  const table = formatTable([
    ['ee'.repeat(16), Uint8Array.of(9)],
    ...Object.values(tableGuids).map((guid, n) => [guid, Uint8Array.of(n)] as const),
  ])
  expect(parseCertificateTable(table)).toEqual({
    vcek: Uint8Array.of(0),
    vlek: Uint8Array.of(1),
    ask: Uint8Array.of(2),
    ark: Uint8Array.of(3),
    crl: Uint8Array.of(4),
  })
})

test('a host without certificates yields an empty table, in either form', () => {
  expect(parseCertificateTable(new Uint8Array())).toEqual({})
  expect(parseCertificateTable(new Uint8Array(4096))).toEqual({})
})

test('certificates in PEM are accepted, too', () => {
  const pem = new TextEncoder().encode(formatPem([der]))
  expect(parseCertificateTable(formatTable([[tableGuids.ask, pem]]))).toEqual({ ask: der })
})

test('a table without a terminator, with an entry out of bounds or with a duplicate is refused', () => {
  const table = formatTable([[tableGuids.vcek, der]])
  const code = 'collateral_unavailable'
  const refused = expect.objectContaining({ code })
  expect(() => parseCertificateTable(table.slice(0, 24))).toThrow(refused)
  expect(() => parseCertificateTable(table.slice(0, -1))).toThrow(refused)
  expect(() => parseCertificateTable(new Uint8Array(24 * 40).fill(1, 0, 16))).not.toThrow()
  expect(() => parseCertificateTable(new Uint8Array(24 * 40).fill(1))).toThrow(refused)
  const many = Array.from({ length: 40 }, () => ['ee'.repeat(16), der] as const)
  expect(() => parseCertificateTable(formatTable(many))).toThrow(refused)
  const twice = formatTable([
    [tableGuids.vcek, der],
    [tableGuids.vcek, der],
  ])
  expect(() => parseCertificateTable(twice)).toThrow(refused)
})
