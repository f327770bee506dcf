import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { rejection } from '../../../test/rejection.ts'
import { deviceEvidenceDigest, deviceNonce, reportData } from './binding.ts'

const nonce = new Uint8Array(32).fill(1)
const statement = new TextEncoder().encode('{"version":1}')
const reports = [Uint8Array.of(1, 2, 3), Uint8Array.of(4)]
const hash = (name: string, ...parts: Uint8Array[]) =>
  parts.reduce((state, part) => state.update(part), createHash(name)).digest()
const padded = (text: string) => Buffer.concat([Buffer.from(text), Buffer.alloc(32)], 32)

test('report data is the hash that the protocol specifies', async () => {
  const devices = hash('sha256', Buffer.from('000000030102030000000104', 'hex'))
  const label = padded('privatemode/v1/report-data')
  const expected = hash('sha512', label, nonce, hash('sha256', statement), devices)
  const actual = await reportData({ nonce, statement, deviceReports: reports })
  expect(Buffer.from(actual).equals(expected)).toBe(true)
})

test('the device nonce is the hash that the protocol specifies', async () => {
  const label = padded('privatemode/v1/device-nonce')
  const expected = hash('sha256', label, nonce, hash('sha256', statement))
  expect(Buffer.from(await deviceNonce({ nonce, statement })).equals(expected)).toBe(true)
})

test('moving a byte between device reports changes the digest', async () => {
  const moved = [Uint8Array.of(1, 2), Uint8Array.of(3, 4)]
  expect(await deviceEvidenceDigest(moved)).not.toEqual(await deviceEvidenceDigest(reports))
  const swapped = reports.toReversed()
  expect(await deviceEvidenceDigest(swapped)).not.toEqual(await deviceEvidenceDigest(reports))
})

test('a nonce of another length is refused', async () => {
  const short = reportData({ nonce: new Uint8Array(31), statement, deviceReports: [] })
  expect(await rejection(short)).toMatchObject({ code: 'nonce_mismatch' })
})
