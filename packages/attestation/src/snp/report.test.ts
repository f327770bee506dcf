import { test } from 'bun:test'
import { type Bytes, formatBase64, parseBase64 } from '../bytes.ts'
import type { SnpEvidence } from '../evidence.ts'
import { authenticate, refusalIn } from '../testing/snp-refusal.ts'
import { snpWorld } from '../testing/snp-world.ts'

const milan = await snpWorld('Milan')
const genoa = await snpWorld('Genoa')
const turin = await snpWorld('Turin')

const refused = refusalIn(genoa.context)

const patched = async (at: number, ...bytes: number[]) =>
  genoa.attest({ patches: [{ at, bytes: Uint8Array.from(bytes) }] })
const reportOf = (evidence: SnpEvidence): Bytes => parseBase64(evidence.report)!
const withReport = (evidence: SnpEvidence, report: Uint8Array) => ({
  ...evidence,
  report: formatBase64(report),
})

test('a report of another length is refused', async () => {
  const evidence = await genoa.attest()
  const report = reportOf(evidence)
  for (const bad of [report.subarray(0, 1183), Uint8Array.from([...report, 0]), new Uint8Array()]) {
    await refused(withReport(evidence, bad), 'evidence_malformed', 'snp/report')
  }
  await refused({ ...evidence, report: '*' }, 'evidence_malformed', 'snp/encoding')
})

test('a report of an unknown version is refused', async () => {
  for (const version of [0, 1, 4, 6, 99]) {
    await refused(await genoa.attest({ version }), 'evidence_unsupported', 'snp/report')
  }
})

test('a signed report with a byte set in a reserved range is refused', async () => {
  const offsets = [0x4c, 0x4f, 0x18b, 0x19f, 0x1eb, 0x1ef, 0x1f8, 0x207, 0x208, 0x29f]
  for (const at of offsets) {
    await refused(await patched(at, 1), 'evidence_malformed', 'snp/report')
  }
  const old = { version: 2, patches: [{ at: 0x188, bytes: Uint8Array.of(0x19) }] }
  await refused(await milan.attest(old), 'evidence_malformed', 'snp/report', milan.context)
})

test('a version 5 report may have mitigation vectors, and nothing after them', async () => {
  const at = (offset: number) => ({
    version: 5,
    patches: [{ at: offset, bytes: Uint8Array.of(1) }],
  })
  await authenticate(await turin.attest(at(0x1f8)), turin.context)
  await authenticate(await turin.attest(at(0x207)), turin.context)
  const bad = await turin.attest(at(0x208))
  await refused(bad, 'evidence_malformed', 'snp/report', turin.context)
})

test('a report with a reserved byte set in one of its TCBs is refused', async () => {
  for (const at of [0x38 + 2, 0x1e0 + 5, 0x1f0 + 3]) {
    await refused(await patched(at, 1), 'evidence_malformed', 'snp/tcb-format')
  }
})

test('a report with another signature algorithm, or a zero in policy bit 17, is refused', async () => {
  await refused(await patched(0x34, 2), 'evidence_unsupported', 'snp/report')
  await refused(await patched(0x0a, 0x01), 'evidence_malformed', 'snp/report')
})

test('a report with invalid key information is refused', async () => {
  await refused(await patched(0x48, 0b10), 'evidence_unsupported', 'snp/report')
  await refused(await patched(0x48, 0b11100), 'evidence_unsupported', 'snp/report')
  await refused(await patched(0x48, 0b100000), 'evidence_malformed', 'snp/report')
})

test('a report with padding in its signature, or r or s outside the group, is refused', async () => {
  const evidence = await genoa.attest()
  const change = (offset: number, ...bytes: number[]) => {
    const report = Uint8Array.from(reportOf(evidence))
    report.set(bytes, offset)
    return withReport(evidence, report)
  }
  for (const offset of [0x2a0 + 48, 0x2a0 + 71, 0x2e8 + 48, 0x2e8 + 71, 0x330, 0x49f]) {
    await refused(change(offset, 1), 'evidence_malformed', 'snp/report')
  }
  for (const offset of [0x2a0, 0x2e8]) {
    const max = change(offset, ...new Array(48).fill(0xff))
    await refused(max, 'signature_invalid', 'snp/report')
    await refused(change(offset, ...new Array(48).fill(0)), 'signature_invalid', 'snp/report')
  }
})

test('a report changed after signing is refused', async () => {
  const evidence = await genoa.attest()
  for (const offset of [0x04, 0x50, 0x90, 0xc0, 0x180, 0x1a0, 0x2a0, 0x2e8]) {
    const report = Uint8Array.from(reportOf(evidence))
    report[offset]! ^= 1
    const changed = withReport(evidence, report)
    await refused(changed, 'signature_invalid', 'snp/report-signature')
  }
})
