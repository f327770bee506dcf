/** Formats OCSP requests (RFC 6960, 4.1.1) for workers that staple the responses. */
import { type Bytes, parseHex } from '../bytes.ts'
import { integer, nullValue, objectIdentifier, octetString, sequence } from '../der/der-writer.ts'
import type { Certificate } from './certificate.ts'
import { publicKeyBits } from './ocsp.ts'

const sha1Oid = '1.3.14.3.2.26'

/**
 * Requests the status of one certificate that `issuer` issued. SHA-1 names the issuer, as
 * responders expect (RFC 5019, 2.1.1); no security depends on it. There is no nonce: the response
 * is cached and presented to many clients, and its window bounds its age.
 */
export async function formatOcspRequest(
  certificate: Certificate,
  issuer: Certificate,
): Promise<Bytes> {
  const certId = sequence(
    sequence(objectIdentifier(sha1Oid), nullValue()),
    octetString(await sha1(issuer.subject)),
    octetString(await sha1(publicKeyBits(issuer))),
    integer(parseHex(certificate.serialHex) ?? new Uint8Array()),
  )
  return sequence(sequence(sequence(sequence(certId))))
}

const sha1 = async (bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-1', bytes))
