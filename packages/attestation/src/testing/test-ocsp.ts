/** Creates OCSP responses for tests, signed by a test authority or by a delegated responder. */
import type { Bytes } from '../bytes.ts'
import { parseHex } from '../bytes.ts'
import { parseDer } from '../der/der-reader.ts'
import {
  bitString,
  element,
  enumerated,
  explicit,
  generalizedTime,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  sequence,
} from '../der/der-writer.ts'
import type { Certificate } from '../x509/certificate.ts'
import { formatExtensions, nameOf, type TestExtension, type TestSubject } from './test-authority.ts'

export type TestAnswer = {
  readonly certificate: Certificate
  readonly issuer: Certificate
  readonly status?: 'good' | 'unknown' | { readonly revokedAt: Date; readonly reason?: number }
  readonly hash?: 'SHA-1' | 'SHA-256' | 'SHA-384'
  readonly thisUpdate?: Date
  readonly nextUpdate?: Date | null
  readonly extensions?: readonly TestExtension[]
}

export type OcspRequest = {
  /** An answer given as bytes is used unmodified. */
  readonly answers: readonly (TestAnswer | Bytes)[]
  readonly signer: TestSubject
  readonly responderBy?: 'name' | 'key'
  /** The responder that the response names, if it differs from the signer. */
  readonly responder?: TestSubject
  readonly certificates?: readonly Bytes[]
  readonly version?: number
  readonly responseType?: string
  readonly extensions?: readonly TestExtension[]
}

export const answerStart = new Date('2026-01-01T00:00:00Z')
export const answerEnd = new Date('2026-01-08T00:00:00Z')

const hashOids = {
  'SHA-1': '1.3.14.3.2.26',
  'SHA-256': '2.16.840.1.101.3.4.2.1',
  'SHA-384': '2.16.840.1.101.3.4.2.2',
} as const

export async function issueOcspResponse(request: OcspRequest): Promise<Bytes> {
  const { signer, responder = signer, responderBy = 'key', certificates = [] } = request
  const { extensions = [] } = request
  const answers: Bytes[] = []
  for (const answer of request.answers)
    answers.push(answer instanceof Uint8Array ? answer : await formatAnswer(answer))
  const tbs = sequence(
    ...(request.version === undefined ? [] : [explicit(0, integer(request.version))]),
    responderBy === 'name'
      ? explicit(1, nameOf(responder.name))
      : explicit(2, octetString(await digest('SHA-1', keyBits(responder.key.spki)))),
    generalizedTime(answerStart),
    sequence(...answers),
    ...(extensions.length > 0 ? [explicit(1, formatExtensions(extensions))] : []),
  )
  const basic = sequence(
    tbs,
    signer.key.algorithm,
    bitString(await signer.key.sign(tbs)),
    ...(certificates.length > 0 ? [explicit(0, sequence(...certificates))] : []),
  )
  const type = objectIdentifier(request.responseType ?? '1.3.6.1.5.5.7.48.1.1')
  return sequence(enumerated(0), explicit(0, sequence(type, octetString(basic))))
}

async function formatAnswer(answer: TestAnswer): Promise<Bytes> {
  const { certificate, issuer, status = 'good', hash = 'SHA-1', extensions = [] } = answer
  const certId = sequence(
    sequence(objectIdentifier(hashOids[hash]), nullValue()),
    octetString(await digest(hash, issuer.subject)),
    octetString(await digest(hash, keyBits(issuer.spki))),
    integer(parseHex(certificate.serialHex)!),
  )
  const fields = [certId, formatStatus(status), generalizedTime(answer.thisUpdate ?? answerStart)]
  if (answer.nextUpdate !== null) {
    fields.push(explicit(0, generalizedTime(answer.nextUpdate ?? answerEnd)))
  }
  if (extensions.length > 0) fields.push(explicit(1, formatExtensions(extensions)))
  return sequence(...fields)
}

function formatStatus(status: NonNullable<TestAnswer['status']>): Bytes {
  if (status === 'good') return element(0x80)
  if (status === 'unknown') return element(0x82)
  const reason = status.reason === undefined ? [] : [explicit(0, enumerated(status.reason))]
  return explicit(1, generalizedTime(status.revokedAt), ...reason)
}

const digest = async (hash: string, bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest(hash, bytes))

const keyBits = (spki: Bytes): Bytes =>
  parseDer(spki, (outer) => {
    const info = outer.enter()
    info.enter()
    return info.readBitString().bytes
  })
