/** A report is signed as the gateway checks it. */
import { expect, test } from 'bun:test'
import { createPublicKey, verify } from 'node:crypto'
import { usageReportText } from '@privatemode/protocol/fleet'
import { ReceiptSigner } from './receipts.ts'

test('one signature covers all records of a report, in their order', () => {
  const signer = new ReceiptSigner()
  const x = Buffer.from(signer.publicKey).toString('base64url')
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
  const record = (text: string) => ({ record: text, rest_digest: 'd', signature: 's' })
  const { records, signature = '' } = signer.signReport([record('a'), record('b')])
  const covers = (some: typeof records) =>
    verify(null, Buffer.from(usageReportText(some)), key, Buffer.from(signature, 'base64'))
  expect(records.map((one) => one.record)).toEqual(['a', 'b'])
  expect(covers(records)).toBe(true)
  expect(covers(records.toReversed())).toBe(false)
  expect(covers(records.slice(1))).toBe(false)
})
