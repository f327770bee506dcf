import { expect, test } from 'bun:test'
import { integer, objectIdentifier, octetString, sequence } from '../der/der-writer.ts'
import type { Certificate } from '../x509/certificate.ts'
import { readPckPlatform, sgxExtensionOid } from './pck-certificate.ts'

const member = (arc: string, value: Uint8Array) =>
  sequence(objectIdentifier(`${sgxExtensionOid}.${arc}`), value)
const svns = (count: number, svn = 1) =>
  Array.from({ length: count }, (_, index) => member(`2.${index + 1}`, integer(svn)))
const tcb = (...members: Uint8Array[]) => member('2', sequence(...members))
const pceSvn = member('2.17', integer(300))
const pceId = member('3', octetString(new Uint8Array(2)))
const fmspc = member('4', octetString(new Uint8Array(6)))

const read = (...members: Uint8Array[]) =>
  readPckPlatform({
    extensions: new Map([[sgxExtensionOid, { critical: false, value: sequence(...members) }]]),
  } as unknown as Certificate)

test('the platform is read from the extension', () => {
  expect(read(tcb(...svns(16), pceSvn), pceId, fmspc)).toEqual({
    components: new Array(16).fill(1),
    pceSvn: 300,
    pceId: new Uint8Array(2),
    fmspc: new Uint8Array(6),
    ppid: undefined,
    platformInstanceId: undefined,
  })
})

test('the machine is identified by its PPID and its instance id; zeros are no identity', () => {
  const good = [tcb(...svns(16), pceSvn), pceId, fmspc]
  const identity = (arc: string, fill: number) =>
    member(arc, octetString(new Uint8Array(16).fill(fill)))
  expect(read(...good, identity('1', 7), identity('6', 8))).toMatchObject({
    ppid: new Uint8Array(16).fill(7),
    platformInstanceId: new Uint8Array(16).fill(8),
  })
  expect(read(...good, identity('1', 0)).ppid).toBeUndefined()
  expect(() => read(...good, member('1', octetString(new Uint8Array(15))))).toThrow('PPID')
})

test.each([
  ['15 components', [tcb(...svns(15), pceSvn), pceId, fmspc]],
  ['a component above 255', [tcb(...svns(16, 256), pceSvn), pceId, fmspc]],
  ['no PCESVN', [tcb(...svns(16)), pceId, fmspc]],
  ['no PCEID', [tcb(...svns(16), pceSvn), fmspc]],
  ['no FMSPC', [tcb(...svns(16), pceSvn), pceId]],
  ['FMSPC twice', [tcb(...svns(16), pceSvn), pceId, fmspc, fmspc]],
  ['a component twice', [tcb(...svns(16), ...svns(1, 9), pceSvn), pceId, fmspc]],
  [
    'FMSPC of 5 bytes',
    [tcb(...svns(16), pceSvn), pceId, member('4', octetString(new Uint8Array(5)))],
  ],
])('an extension with %s is refused', (_, members) => {
  expect(() => read(...members)).toThrow(
    expect.objectContaining({ name: 'AttestationError', code: 'certificate_malformed' }),
  )
})

test('an extension that is not DER is refused with a typed code', () => {
  const extension = { critical: false, value: Uint8Array.of(1, 2, 3) }
  const certificate = { extensions: new Map([[sgxExtensionOid, extension]]) }
  expect(() => readPckPlatform(certificate as unknown as Certificate)).toThrow(
    expect.objectContaining({ name: 'AttestationError' }),
  )
})
