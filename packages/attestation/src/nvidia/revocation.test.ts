import { describe, expect, test } from 'bun:test'
import { authenticate, contextOf, good, refused, world } from '../testing/nvidia-attempts.ts'
import { fullSizeCollateral } from '../testing/nvidia-full-size.ts'
import { gpuEvidence, gpuOcsp } from '../testing/nvidia-world.ts'
import { testNow } from '../testing/test-authority.ts'
import { Transcript } from '../verdict.ts'

describe('revocation', () => {
  const hold = new Date('2026-01-01T00:00:00Z')
  const certificateHold = { revokedAt: hold, reason: 6 }
  const lenient = (revokedGraceHours: number, at = testNow) =>
    contextOf({ revocation: { allowUnknown: false, revokedGraceHours }, at })
  const revoked = async (name: string) =>
    gpuEvidence(world, {
      ocsp: await gpuOcsp(world, (about) => (about === name ? { status: certificateHold } : {})),
    })
  const rimSigner = 'nvidia/rim/0/chain/0/revocation'

  test('on hold of the RIM signer refuses, unless the grace period allows', async () => {
    const evidence = await revoked('Test RIM Signer')
    await refused(evidence, 'certificate_revoked', rimSigner)
    await authenticate(evidence, { context: lenient(13) })
    await refused(evidence, 'certificate_revoked', rimSigner, { context: lenient(12) })
  })

  test.each([
    ['the device', 'GH100 A01 GSP BROM', 'nvidia/chain/1/revocation'],
    ['its provisioner', 'Test GH100 Provisioner', 'nvidia/chain/2/revocation'],
    ['its family', 'Test GH100 Identity', 'nvidia/chain/3/revocation'],
    ['the RIM issuer', 'Test RIM L3', 'nvidia/rim/0/chain/1/revocation'],
    ['the RIM authority', 'Test RIM CA', 'nvidia/rim/0/chain/2/revocation'],
  ])('of %s refuses', async (_, name, id) => {
    await refused(await revoked(name), 'certificate_revoked', id)
  })

  test('without a response is unknown, and refuses unless the policy allows', async () => {
    const evidence = { ...good, ocsp: [] }
    await refused(evidence, 'revocation_unknown', 'nvidia/chain/1/revocation')
    const transcript = new Transcript()
    const context = contextOf({ revocation: { allowUnknown: true, revokedGraceHours: 0 } })
    await authenticate(evidence, { context }, transcript)
    const tolerated = transcript.checks.filter(({ id }) => id.endsWith('/revocation'))
    expect(tolerated.every(({ result }) => result === 'skipped')).toBe(true)
    expect(tolerated).toHaveLength(10)
  })

  test('that is stale is unknown', () =>
    refused(good, 'revocation_unknown', 'nvidia/chain/1/revocation', {
      context: contextOf({ at: new Date('2026-02-01T00:00:00Z') }),
    }))

  test('tolerated as unknown does not tolerate revoked certificates', async () => {
    const context = contextOf({ revocation: { allowUnknown: true, revokedGraceHours: 0 } })
    await refused(await revoked('Test RIM Signer'), 'certificate_revoked', rimSigner, { context })
  })

  test('with more responses than the limit refuses', () =>
    refused(
      { ...good, ocsp: Array.from({ length: 33 }, () => good.ocsp[0]!) },
      'evidence_malformed',
      'nvidia/ocsp',
    ))

  test('with a response that is not base64 refuses', () =>
    refused({ ...good, ocsp: ['***'] }, 'evidence_malformed', 'nvidia/ocsp'))

  test('works with delegated responders, and with responses in any order', async () => {
    const { ocsp } = await fullSizeCollateral(world)
    await authenticate({ ...good, ocsp: ocsp.toReversed() })
  })
})
