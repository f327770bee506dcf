import { expect, test } from 'bun:test'
import { formatAttestation, parseAttestation } from './attestation-response.ts'
import { utf8 } from './bytes.ts'
import { softwareWorld } from './testing/software-world.ts'

const software = { kind: 'software', report: 'AA==', signature: 'AA==', certificates: ['AA=='] }
const gpu = { kind: 'nvidia-gpu', report: '', certificate_chain: '', rims: [], ocsp: [] }
const response = (cpu: unknown, devices: unknown = []) => ({
  statement: 'AA==',
  evidence: { cpu, devices },
})
const parse = (value: unknown) => parseAttestation(utf8(JSON.stringify(value)))
const refused = (value: unknown, code = 'evidence_malformed') =>
  expect(() => parse(value)).toThrow(expect.objectContaining({ code }))

test('an attestation round-trips', async () => {
  const world = await softwareWorld()
  const { statement, evidence } = await world.inputs()
  const attestation = { statement: new Uint8Array(statement), evidence }
  expect(parseAttestation(formatAttestation(attestation))).toEqual(attestation)
})

test('all kinds of evidence are parsed', () => {
  const snp = { kind: 'snp', report: '', certificates: [], crls: [] }
  expect(parse(response(snp, [gpu])).evidence).toEqual({ cpu: snp, devices: [gpu] } as never)
})

test('unknown kinds are unsupported', () => {
  refused(response({ ...software, kind: 'sgx' }), 'evidence_unsupported')
  refused(response(software, [{ ...gpu, kind: 'tpm' }]), 'evidence_unsupported')
})

test('unknown fields, wrong types and too many devices are refused', () => {
  refused({ ...response(software), extra: 1 })
  refused(response({ ...software, extra: 1 }))
  refused(response({ ...software, certificates: 'AA==' }))
  refused(response({ ...software, certificates: [1] }))
  refused(response({ ...software, certificates: new Array(17).fill('') }))
  refused(response(software, new Array(17).fill(gpu)))
  refused(response(undefined))
  refused({ statement: 'AA==', evidence: { cpu: software, devices: [], extra: 1 } })
  refused({ ...response(software), statement: 'A' })
  refused([])
})

test('no single part of the evidence may use up the whole size limit', () => {
  refused(response({ ...software, report: 'A'.repeat(8 * 1024 * 1024 + 1) }))
})

test('a response over the limit is refused before it is parsed', () => {
  const body = new Uint8Array(24 * 1024 * 1024 + 1)
  expect(() => parseAttestation(body)).toThrow(/expected at most/)
})
