import { expect, test } from 'bun:test'
import { authenticate, refusalIn } from '../testing/snp-refusal.ts'
import { packTcb, snpWorld, testCspId, testTcb, wrapHwid } from '../testing/snp-world.ts'
import { Transcript } from '../verdict.ts'
import { authenticateSnp } from './authenticate.ts'

const milan = await snpWorld('Milan')
const genoa = await snpWorld('Genoa')
const turin = await snpWorld('Turin')
const vlek = await snpWorld('Genoa', 'vlek')

const refused = refusalIn(genoa.context)

test('a certificate for a TCB other than the reported one is refused, whatever the current one is', async () => {
  const tcb = { ...testTcb.Genoa, microcode: 83 }
  const other = await genoa.attest({}, { tcb })
  await refused(other, 'certificate_mismatch', 'snp/reported-tcb')
  const currentBytes = packTcb('Genoa', tcb)
  const behind = await genoa.attest({ patches: [{ at: 0x38, bytes: currentBytes }] }, { tcb })
  await refused(behind, 'certificate_mismatch', 'snp/reported-tcb')
  const ahead = await genoa.attest({ patches: [{ at: 0x38, bytes: currentBytes }] })
  await authenticate(ahead, genoa.context)
})

test('a certificate for any other component level is refused', async () => {
  for (const world of [milan, turin]) {
    for (const component of Object.keys(testTcb[world.product])) {
      const tcb = { ...testTcb[world.product], [component]: 99 }
      const evidence = await world.attest({}, { tcb })
      await refused(evidence, 'certificate_mismatch', 'snp/reported-tcb', world.context)
    }
  }
})

test('a certificate of another chip is refused', async () => {
  const other = await genoa.attest({}, { hwid: new Uint8Array(64).fill(7) })
  await refused(other, 'certificate_mismatch', 'snp/chip-id')
  const chipId = new Uint8Array(64).fill(7)
  await refused(await genoa.attest({ chipId }), 'certificate_mismatch', 'snp/chip-id')
})

test('a Turin certificate covers eight bytes of the chip id, and the others must be zero', async () => {
  const chipId = Uint8Array.from({ length: 64 }, (_, index) => 255 - index)
  const evidence = await turin.attest({ chipId })
  await refused(evidence, 'certificate_mismatch', 'snp/chip-id', turin.context)
})

test('a report signed by a provider’s key may name a chip, which proves nothing', async () => {
  const evidence = await vlek.attest({ chipId: new Uint8Array(64).fill(7) })
  const transcript = new Transcript()
  const claims = await authenticateSnp(evidence, vlek.context, transcript)
  expect(claims.chipId).toBe('07'.repeat(64))
  const check = transcript.checks.find(({ id }) => id === 'snp/chip-id')
  expect(check?.result).toBe('skipped')
  const masked = await authenticateSnp(await vlek.attest(), vlek.context, new Transcript())
  expect(masked.chipId).toBeUndefined()
})

test('a certificate for a product other than the processor is refused', async () => {
  const asMilan = await genoa.attest({ model: 0x01 })
  await refused(asMilan, 'certificate_mismatch', 'snp/product')
  const unknown = await genoa.attest({ family: 0x17 })
  await refused(unknown, 'certificate_mismatch', 'snp/product')
})

test('a certificate for a product other than its issuer’s is refused', async () => {
  const named = await genoa.attest({}, { productName: 'Milan-B0' })
  await refused(named, 'certificate_mismatch', 'snp/signer')
})

test('a certificate of a kind other than the report names is refused', async () => {
  const claimsVlek = await genoa.attest({ keyInfo: 1 << 2 })
  await refused(claimsVlek, 'certificate_mismatch', 'snp/signer')
  const claimsVcek = await vlek.attest({ keyInfo: 0 })
  await refused(claimsVcek, 'certificate_mismatch', 'snp/signer', vlek.context)
  const chipId = new Uint8Array(64)
  const byOtherIssuer = await genoa.attest({ chipId }, { hwid: null, cspId: testCspId })
  await refused(byOtherIssuer, 'certificate_mismatch', 'snp/signer')
})

test('a certificate with missing, duplicate or malformed extensions is refused', async () => {
  const { microcode: _, ...incomplete } = testTcb.Genoa
  const cases = [
    { hwid: null },
    { cspId: testCspId },
    { hwid: new Uint8Array(63) },
    { hwid: wrapHwid(new Uint8Array(63)) },
    { productName: 'Naples' },
    { tcb: incomplete },
  ]
  for (const request of cases) {
    const evidence = await genoa.attest({}, request)
    await refused(evidence, 'certificate_malformed', 'snp/endorsement')
  }
})

test('a provider whose name is not printable, or too long, is refused', async () => {
  const longest = 'p'.repeat(256)
  await authenticate(await vlek.attest({}, { cspId: longest }), vlek.context)
  for (const cspId of [`${longest}p`, 'a\nb', 'a\u0000']) {
    const evidence = await vlek.attest({}, { cspId })
    await refused(evidence, 'certificate_malformed', 'snp/endorsement', vlek.context)
  }
})
