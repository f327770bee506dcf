/** Compares REPORT_DATA, which a guest chooses, with what the caller expects there. */
import type { Transcript } from '@privatemode/attestation'

/**
 * REPORT_DATA must be the given bytes followed by zeros. A worker's own binding also covers its
 * statement; `bundle` checks it together with the statement.
 */
export function requireReportData(
  kind: 'snp' | 'tdx',
  seen: Uint8Array,
  nonce: Uint8Array | undefined,
  transcript: Transcript,
): void {
  const id = `${kind}/nonce`
  if (nonce === undefined) {
    transcript.skip(id, 'no nonce was given: the report may be of any age')
    return
  }
  const expected = new Uint8Array(seen.length)
  expected.set(nonce.subarray(0, seen.length))
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  transcript.require(
    nonce.length <= seen.length && Buffer.compare(seen, expected) === 0,
    id,
    'nonce_mismatch',
    `report data ${hex(seen)}, expected ${hex(nonce)} and zeros`,
  )
}
