/** Reads the identity of the firmware that a device's boot ROM certified (TCG DICE, 6.1). */
import type { Bytes } from '../bytes.ts'
import { contextTag, type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError } from '../verdict.ts'
import type { Certificate } from '../x509/certificate.ts'

export type FirmwareIdentity = {
  /** SHA-384 of the first mutable code. */
  readonly firmwareId: Bytes
  /** The device's own key, if the extension repeats it (CompositeDeviceID). */
  readonly deviceKey: Bytes | undefined
  /** Not secure, recovery or debug, if the extension has flags (DiceTcbInfo). */
  readonly unsafe: boolean
}

const compositeDeviceId = '2.23.133.5.4.1'
const diceTcbInfo = '2.23.133.5.4.1.1'
const sha384Oid = '2.16.840.1.101.3.4.2.2'

/** Hopper and LS10 certify a CompositeDeviceID, Blackwell a DiceTcbInfo; a leaf has exactly one of them. */
export function readFirmwareIdentity(leaf: Certificate): FirmwareIdentity {
  const composite = leaf.extensions.get(compositeDeviceId)
  const tcbInfo = leaf.extensions.get(diceTcbInfo)
  if (composite && !tcbInfo) return parseDer(composite.value, readCompositeDeviceId)
  if (tcbInfo && !composite) return parseDer(tcbInfo.value, readTcbInfo)
  throw new AttestationError('chain_mismatch', 'leaf certificate names no firmware, or two')
}

/** SEQUENCE { version, deviceID SubjectPublicKeyInfo, fwid FWID } */
function readCompositeDeviceId(outer: DerReader): FirmwareIdentity {
  const fields = outer.enter()
  const version = fields.readSmallInteger()
  if (version !== 1) malformed(`CompositeDeviceID version ${version}`)
  const deviceKey = fields.read(tags.sequence).raw
  const firmwareId = readFwid(fields)
  fields.end()
  return { firmwareId, deviceKey, unsafe: false }
}

/** SEQUENCE of tagged fields; [6] lists the FWIDs, the first of which is the code that signs. */
function readTcbInfo(outer: DerReader): FirmwareIdentity {
  const fields = outer.enter()
  // vendor, model, version, svn, layer, index
  for (let n = 0; n <= 5; n++) fields.readOptional(contextTag(n, 'primitive'))
  const list = fields.enter(contextTag(6))
  const firmwareId = readFwid(list)
  while (!list.atEnd) readFwid(list)
  const flags = fields.readOptional(contextTag(7, 'primitive'))
  // vendorInfo, type
  for (let n = 8; n <= 9; n++) fields.readOptional(contextTag(n, 'primitive'))
  fields.end()
  // A BIT STRING: unused bits, then notConfigured(0), notSecure(1), recovery(2), debug(3).
  return { firmwareId, deviceKey: undefined, unsafe: ((flags?.content[1] ?? 0) & 0x70) !== 0 }
}

/** FWID ::= SEQUENCE { hashAlg OBJECT IDENTIFIER, digest OCTET STRING } */
function readFwid(parent: DerReader): Bytes {
  const fwid = parent.enter()
  const oid = fwid.readOid()
  const digest = fwid.readOctetString()
  fwid.end()
  if (oid !== sha384Oid || digest.length !== 48) malformed(`FWID of ${oid}, ${digest.length} bytes`)
  return digest
}

function malformed(detail: string): never {
  throw new AttestationError('certificate_malformed', detail)
}
