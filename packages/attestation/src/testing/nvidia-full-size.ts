/** Collateral as large as a real GPU's: RIMs of 64 entries, OCSP responses by delegated responders. */
import { type Bytes, formatBase64 } from '../bytes.ts'
import { objectIdentifier, sequence } from '../der/der-writer.ts'
import type { NvidiaGpuEvidence } from '../evidence.ts'
import { parseCertificate } from '../x509/certificate.ts'
import { type Authority, certify, driverRim, type NvidiaWorld, vbiosRim } from './nvidia-world.ts'
import { type RimParts, signRim, writeRim } from './rim-writer.ts'
import { keyUsageBits } from './test-authority.ts'
import { issueOcspResponse } from './test-ocsp.ts'

export async function fullSizeCollateral(
  world: NvidiaWorld,
): Promise<Pick<NvidiaGpuEvidence, 'rims' | 'ocsp'>> {
  const rims = [
    await signRim(writeRim(fillUp(driverRim)), world.rimSigner),
    await signRim(writeRim(fillUp(vbiosRim)), world.rimSigner),
  ]
  const ocsp = [
    ...(await answerFor(world.deviceChain)),
    ...(await answerFor([...world.rimAuthorities, world.rimSigner])),
  ]
  return { rims: rims.map(formatBase64), ocsp: ocsp.map(formatBase64) }
}

/** Real RIMs list every measurement and mark most of them as inactive. */
function fillUp(rim: RimParts): RimParts {
  const listed = new Map(rim.entries.map((entry) => [entry.index, entry]))
  const entries = Array.from(
    { length: 64 },
    (_, index) => listed.get(index) ?? { index, active: false, values: ['00'.repeat(48)] },
  )
  return { ...rim, entries }
}

async function answerFor(chain: readonly Authority[]): Promise<Bytes[]> {
  const responses: Bytes[] = []
  for (const [index, { certificate }] of chain.entries()) {
    const issuer = chain[index - 1]
    if (!issuer) continue
    const responder = await certify(issuer, 'Test OCSP Responder', 0x7000 + index, {
      keyUsage: keyUsageBits.digitalSignature,
      extensions: [{ oid: '2.5.29.37', value: sequence(objectIdentifier('1.3.6.1.5.5.7.3.9')) }],
    })
    responses.push(
      await issueOcspResponse({
        answers: [
          {
            certificate: parseCertificate(certificate),
            issuer: parseCertificate(issuer.certificate),
            hash: 'SHA-384',
          },
        ],
        signer: responder.subject,
        certificates: [responder.certificate],
      }),
    )
  }
  return responses
}
