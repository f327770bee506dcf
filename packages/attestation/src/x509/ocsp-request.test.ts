import { expect, test } from 'bun:test'
import { type Bytes, formatHex } from '../bytes.ts'
import { parseDer } from '../der/der-reader.ts'
import { issueCertificate, issueRoot } from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { issueOcspResponse } from '../testing/test-ocsp.ts'
import { parseCertificate } from './certificate.ts'
import { formatOcspRequest } from './ocsp-request.ts'
import { parseOcspResponse } from './ocsp-response.ts'

/** OCSPRequest > TBSRequest > requestList > Request > CertID (RFC 6960, 4.1.1). */
const readCertId = (request: Bytes): string =>
  parseDer(request, (outer) => {
    const whole = outer.enter()
    const tbs = whole.enter()
    whole.end()
    const list = tbs.enter()
    tbs.end()
    const entry = list.enter()
    list.end()
    const certId = entry.read().raw
    entry.end()
    return formatHex(certId)
  })

test.each([[1], [0x80], [0xff00ff]])(
  'a request for serial %p names the certificate as a response about it does',
  async (serial) => {
    const root = { name: 'root', key: await makeKey('p384') }
    const subject = { name: 'subject', key: await makeKey('p256') }
    const issuer = parseCertificate(await issueRoot(root))
    const certificate = parseCertificate(await issueCertificate({ subject, issuer: root, serial }))
    const certId = readCertId(await formatOcspRequest(certificate, issuer))

    const response = await issueOcspResponse({ answers: [{ certificate, issuer }], signer: root })
    expect(formatHex(response)).toContain(certId)
    const parsed = parseOcspResponse(response)
    expect(parsed.kind === 'basic' && parsed.answers[0]?.certId.serialHex).toBe(
      certificate.serialHex,
    )
  },
)
