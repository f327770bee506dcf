/** Checks the certificates of a chain against the OCSP responses stapled to the evidence. */
import { type Bytes, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext } from '../evidence.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import { type Certificate, fingerprint } from '../x509/certificate.ts'
import { type RevocationStatus, readRevocationStatus, requireNotRevoked } from '../x509/ocsp.ts'

const maxResponses = 32

/** The responses of one piece of evidence; the status of each certificate is determined once. */
export class StapledOcsp {
  readonly #responses: readonly Response[]
  readonly #statuses = new Map<string, RevocationStatus>()
  readonly #context: AuthenticityContext

  /** `ocsp` is base64, as on the wire. */
  constructor(ocsp: readonly string[], context: AuthenticityContext) {
    if (ocsp.length > maxResponses) {
      throw new AttestationError('evidence_malformed', `${ocsp.length} OCSP responses`)
    }
    this.#responses = ocsp.map(decode)
    this.#context = context
  }

  /** Checks `chain` from index `first` on, except its root, which is pinned. */
  async requireUnrevoked(
    chain: readonly Certificate[],
    first: number,
    transcript: Transcript,
    idPrefix: string,
  ): Promise<void> {
    const { revocation, at } = this.#context
    for (const [index, certificate] of chain.entries()) {
      const issuer = chain[index + 1]
      if (index < first || !issuer) continue
      const status = await this.#statusOf(certificate, issuer)
      requireNotRevoked(status, revocation, at, transcript, `${idPrefix}/${index}/revocation`)
    }
  }

  async #statusOf(certificate: Certificate, issuer: Certificate): Promise<RevocationStatus> {
    const key = `${await fingerprint(certificate.der)} ${await fingerprint(issuer.der)}`
    const known = this.#statuses.get(key)
    if (known) return known
    const responses = this.#responses.filter(({ binary }) => mentions(binary, certificate))
    const status = await readRevocationStatus(
      responses.map(({ bytes }) => bytes),
      certificate,
      issuer,
      this.#context.at,
      this.#context.revocation.maxAgeHours,
    )
    this.#statuses.set(key, status)
    return status
  }
}

/** The bytes, and the same as a string of one character per byte, which is fast to search. */
type Response = { readonly bytes: Bytes; readonly binary: string }

function decode(base64: string): Response {
  const bytes = parseBase64(base64)
  if (!bytes) throw new AttestationError('evidence_malformed', 'OCSP response is not base64')
  return { bytes, binary: atob(base64) }
}

/** A response names its certificate by serial number (RFC 6960, 4.1.1): others need not be parsed. */
function mentions(binary: string, { serialHex }: Certificate): boolean {
  const octets = serialHex.match(/../g) ?? []
  return binary.includes(octets.map((hex) => String.fromCharCode(Number(`0x${hex}`))).join(''))
}
