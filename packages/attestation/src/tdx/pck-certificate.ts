/** Reads Intel's extension of a PCK certificate: which platform this is, and its patch level. */

import { type Bytes, formatHex, isZero } from '../bytes.ts'
import { type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError } from '../verdict.ts'
import type { Certificate } from '../x509/certificate.ts'
import type { PlatformTcb } from './tcb.ts'

export type PckPlatform = PlatformTcb & {
  /** Family, model, stepping, platform type, custom SKU: what a TCB info applies to. */
  readonly fmspc: Bytes
  readonly pceId: Bytes
  /** 16 bytes that identify this processor. */
  readonly ppid: Bytes | undefined
  /** 16 bytes of a platform with several packages, regenerated when these change. */
  readonly platformInstanceId: Bytes | undefined
}

export const sgxExtensionOid = '1.2.840.113741.1.13.1'
const ppidOid = `${sgxExtensionOid}.1`
const platformInstanceIdOid = `${sgxExtensionOid}.6`
const tcbOid = `${sgxExtensionOid}.2`
const pceIdOid = `${sgxExtensionOid}.3`
const fmspcOid = `${sgxExtensionOid}.4`
const pceSvnOid = `${tcbOid}.17`
const componentCount = 16

/** Refuses a certificate without the extension: it does not belong to a platform. */
export function readPckPlatform(certificate: Certificate): PckPlatform {
  const extension = certificate.extensions.get(sgxExtensionOid)
  if (extension === undefined) refuse('has no SGX extension')
  const values = parseMembers(extension.value)
  const tcb = parseMembers(member(values, tcbOid))
  const components = Array.from({ length: componentCount }, (_, index) => {
    const svn = parseInteger(member(tcb, `${tcbOid}.${index + 1}`))
    return svn <= 0xff ? svn : refuse(`SVN ${index + 1} is ${svn}, expected at most 255`)
  })
  return {
    components,
    pceSvn: parseInteger(member(tcb, pceSvnOid)),
    fmspc: parseOctets(member(values, fmspcOid), 6, 'FMSPC'),
    pceId: parseOctets(member(values, pceIdOid), 2, 'PCEID'),
    ppid: parseIdentity(values, ppidOid, 'PPID'),
    platformInstanceId: parseIdentity(values, platformInstanceIdOid, 'platform instance id'),
  }
}

/** Zeros mean that there is none: they would identify every machine. */
function parseIdentity(
  members: ReadonlyMap<string, Bytes>,
  oid: string,
  name: string,
): Bytes | undefined {
  const der = members.get(oid)
  const octets = der && parseOctets(der, 16, name)
  return octets && !isZero(octets) ? octets : undefined
}

/** SEQUENCE OF SEQUENCE { OBJECT IDENTIFIER, value }, as a map to the DER of each value. */
function parseMembers(der: Bytes): ReadonlyMap<string, Bytes> {
  return parseDer(der, (outer) => {
    const list = outer.enter(tags.sequence)
    const members = new Map<string, Bytes>()
    while (!list.atEnd) {
      const entry: DerReader = list.enter(tags.sequence)
      const oid = entry.readOid()
      if (members.has(oid)) refuse(`has member ${oid} twice`)
      members.set(oid, entry.read().raw)
      entry.end()
    }
    return members
  })
}

function member(members: ReadonlyMap<string, Bytes>, oid: string): Bytes {
  return members.get(oid) ?? refuse(`has no member ${oid}`)
}

function parseInteger(der: Bytes): number {
  return parseDer(der, (reader) => reader.readSmallInteger())
}

function parseOctets(der: Bytes, length: number, name: string): Bytes {
  const octets = parseDer(der, (reader) => reader.readOctetString())
  return octets.length === length
    ? octets
    : refuse(`has ${name} ${formatHex(octets)}, expected ${length} bytes`)
}

function refuse(reason: string): never {
  throw new AttestationError('certificate_malformed', `PCK certificate ${reason}`)
}
