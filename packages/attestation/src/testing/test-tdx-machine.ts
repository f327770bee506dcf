/** A TDX machine for tests, and the quotes it creates. */
import { type Bytes, concatBytes, utf8 } from '../bytes.ts'
import { integer, objectIdentifier, octetString, sequence } from '../der/der-writer.ts'
import { sha256 } from '../digest.ts'
import { sgxExtensionOid } from '../tdx/pck-certificate.ts'
import type { TestKey } from './test-key.ts'

/** The machine's properties; a test changes one thing and expects one refusal. */
export type TdxMachine = {
  readonly version: 4 | 5
  readonly bodyType: 2 | 3
  readonly teeTcbSvn: Uint8Array
  readonly mrSignerSeam: Uint8Array
  readonly seamAttributes: Uint8Array
  readonly tdAttributes: Uint8Array
  readonly reportData: Uint8Array
  readonly mrServiceTd: Uint8Array
  readonly components: readonly number[]
  readonly pceSvn: number
  readonly fmspc: Uint8Array
  readonly pceId: Uint8Array
  readonly qeMiscSelect: Uint8Array
  readonly qeAttributes: Uint8Array
  readonly qeMrSigner: Uint8Array
  readonly qeIsvProdId: number
  readonly qeIsvSvn: number
  readonly qeAuthData: Uint8Array
  /** What follows the digest in the QE's report data. */
  readonly qeReportDataTail: Uint8Array
  /** Leaves the SGX extension out of the PCK certificate. */
  readonly withoutExtension: boolean
  readonly trailing: Uint8Array
}

export const filled = (length: number, value: number): Bytes => new Uint8Array(length).fill(value)

export const testMachine: TdxMachine = {
  version: 4,
  bodyType: 2,
  teeTcbSvn: Uint8Array.of(6, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  mrSignerSeam: filled(48, 0),
  seamAttributes: filled(8, 0),
  tdAttributes: Uint8Array.of(0, 0, 0, 0x10, 0, 0, 0, 0),
  reportData: filled(64, 0xda),
  mrServiceTd: filled(48, 0),
  components: [3, 3, 2, 2, 4, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0],
  pceSvn: 13,
  fmspc: Uint8Array.of(0x90, 0xc0, 0x6f, 0, 0, 0),
  pceId: filled(2, 0),
  qeMiscSelect: filled(4, 0),
  qeAttributes: Uint8Array.of(0x15, ...filled(7, 0), 0xe7, ...filled(7, 0)),
  qeMrSigner: filled(32, 0xdc),
  qeIsvProdId: 2,
  qeIsvSvn: 4,
  qeAuthData: filled(32, 0xa0),
  qeReportDataTail: filled(32, 0),
  withoutExtension: false,
  trailing: new Uint8Array(),
}

export function pckExtension(machine: TdxMachine) {
  const member = (arc: string, value: Bytes) =>
    sequence(objectIdentifier(`${sgxExtensionOid}.${arc}`), value)
  const svns = machine.components.map((svn, index) => member(`2.${index + 1}`, integer(svn)))
  // The same numbers once more, as one string; other verifiers read this form.
  const cpuSvn = member('2.18', octetString(Uint8Array.from(machine.components)))
  const value = sequence(
    member('1', octetString(filled(16, 0x99))),
    member('2', sequence(...svns, member('2.17', integer(machine.pceSvn)), cpuSvn)),
    member('3', octetString(machine.pceId)),
    member('4', octetString(machine.fmspc)),
  )
  return { oid: sgxExtensionOid, value }
}

export async function formatQuote(
  machine: TdxMachine,
  attestationKey: TestKey,
  pckKey: TestKey,
  chain: string,
) {
  const header = concatBytes(
    uint16(machine.version),
    uint16(2),
    uint32(0x81),
    filled(4, 0),
    Uint8Array.fromHex('939a7233f79c4ca9940a0db3957f0607'),
    filled(20, 0x75),
  )
  const body = concatBytes(
    machine.teeTcbSvn,
    filled(48, 0x5e),
    machine.mrSignerSeam,
    machine.seamAttributes,
    machine.tdAttributes,
    Uint8Array.of(0xe7, 2, 6, 0, 0, 0, 0, 0),
    ...[0x70, 0xc1, 0xc2, 0xc3, 0x10, 0x11, 0x12, 0x13].map((value) => filled(48, value)),
    machine.reportData,
    ...(machine.bodyType === 3 ? [machine.teeTcbSvn, machine.mrServiceTd] : []),
  )
  const descriptor = machine.version === 5 ? [uint16(machine.bodyType), uint32(body.length)] : []
  const signedPart = concatBytes(header, ...descriptor, body)
  const point = attestationKey.spki.subarray(-64)
  const binding = await sha256(concatBytes(point, machine.qeAuthData))
  const qeReport = concatBytes(
    filled(16, 0x0c),
    machine.qeMiscSelect,
    filled(28, 0),
    machine.qeAttributes,
    filled(32, 0xec),
    filled(32, 0),
    machine.qeMrSigner,
    filled(96, 0),
    uint16(machine.qeIsvProdId),
    uint16(machine.qeIsvSvn),
    filled(60, 0),
    binding,
    machine.qeReportDataTail,
  )
  const certification = concatBytes(
    qeReport,
    await pckKey.signRaw(qeReport),
    uint16(machine.qeAuthData.length),
    machine.qeAuthData,
    block(5, concatBytes(utf8(chain), Uint8Array.of(0))),
  )
  const signature = await attestationKey.signRaw(signedPart)
  const data = concatBytes(signature, point, block(6, certification))
  return concatBytes(signedPart, uint32(data.length), data, machine.trailing)
}

const block = (type: number, content: Bytes) =>
  concatBytes(uint16(type), uint32(content.length), content)
const uint16 = (value: number) => Uint8Array.of(value & 0xff, value >>> 8)
const uint32 = (value: number) => concatBytes(uint16(value & 0xffff), uint16(value >>> 16))
