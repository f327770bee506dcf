/** Verifies one of Intel's certificate chains, leaf first, up to the pinned root. */
import { type Bytes, equalBytes } from '../bytes.ts'
import { DerReader, tags } from '../der/der-reader.ts'
import type { AuthenticityContext } from '../evidence.ts'
import type { Transcript } from '../verdict.ts'
import { type Certificate, parseCertificate, parsePem } from '../x509/certificate.ts'
import { verifyChain } from '../x509/chain.ts'

/** PEM, as in quotes and from Intel's service; or concatenated DER, as in Intel's sample. */
export function parseIssuerChain(bytes: Bytes): Certificate[] {
  if (bytes[0] !== tags.sequence) {
    return parsePem(new TextDecoder().decode(bytes)).map(parseCertificate)
  }
  const reader = new DerReader(bytes)
  const certificates: Certificate[] = []
  while (!reader.atEnd) certificates.push(parseCertificate(reader.read(tags.sequence).raw))
  return certificates
}

/** Leaf first. */
type IssuerChain = {
  readonly 2: readonly [Certificate, Certificate]
  readonly 3: readonly [Certificate, Certificate, Certificate]
}

/**
 * Verifies that `certificates` are a chain of exactly `length` to Intel's root, and returns it leaf
 * first. The length distinguishes the chains: the root signs CAs and the TCB signer, and only a CA
 * signs PCK certificates.
 */
export async function verifyIssuerChain<Length extends keyof IssuerChain>(
  certificates: readonly Certificate[],
  length: Length,
  context: AuthenticityContext,
  transcript: Transcript,
  id: string,
): Promise<IssuerChain[Length]> {
  const chain = orderLeafFirst(certificates)
  transcript.require(
    chain.length === length && certificates.length === length,
    `${id}/length`,
    'chain_mismatch',
    `${chain.length} of ${certificates.length} certificates are linked, expected ${length}`,
  )
  const trust = { rootFingerprints: context.roots.intel, at: context.at }
  await verifyChain(chain, trust, transcript, id)
  transcript.require(
    chain[0]?.isCa === false,
    `${id}/leaf`,
    'chain_mismatch',
    'the first certificate must not be an authority',
  )
  return chain as unknown as IssuerChain[Length] // the length was checked above
}

/** Starts at a certificate that issued no other and follows the issuer names up; proves nothing. */
function orderLeafFirst(certificates: readonly Certificate[]): readonly Certificate[] {
  const isIssuer = (candidate: Certificate): boolean =>
    certificates.some((other) => other !== candidate && equalBytes(other.issuer, candidate.subject))
  const chain: Certificate[] = []
  let next = certificates.find((candidate) => !isIssuer(candidate))
  while (next !== undefined && !chain.includes(next)) {
    chain.push(next)
    const { issuer } = next
    next = certificates.find(
      (candidate) => equalBytes(candidate.subject, issuer) && !chain.includes(candidate),
    )
  }
  return chain
}
