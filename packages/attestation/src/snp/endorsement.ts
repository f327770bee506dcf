/** What AMD certifies about a report-signing key: product, TCB, and the chip or the provider. */
import type { Bytes } from '../bytes.ts'
import { type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError } from '../verdict.ts'
import type { Certificate } from '../x509/certificate.ts'
import {
  componentsOf,
  productOfName,
  type SnpProduct,
  type TcbComponent,
  type TcbLevels,
} from './product.ts'
import type { SnpSigner } from './report.ts'

/** The extensions of a VCEK or VLEK certificate (AMD document 57230). */
export type Endorsement = {
  readonly product: SnpProduct
  readonly tcb: TcbLevels
  readonly holder:
    | { readonly kind: 'vcek'; readonly chipId: Bytes }
    | { readonly kind: 'vlek'; readonly cspId: string }
}

const arc = '1.3.6.1.4.1.3704.1'
const componentOids: Readonly<Record<TcbComponent, string>> = {
  bootloader: `${arc}.3.1`,
  tee: `${arc}.3.2`,
  snp: `${arc}.3.3`,
  microcode: `${arc}.3.8`,
  fmc: `${arc}.3.9`,
}
const chipIdOctets: Readonly<Record<SnpProduct, number>> = { Milan: 64, Genoa: 64, Turin: 8 }

/** Throws `certificate_malformed` if the certificate is not a VCEK or VLEK of a known product. */
export function parseEndorsement(certificate: Certificate): Endorsement {
  try {
    const name = parseDer(extension(certificate, `${arc}.2`), readIa5String)
    const product = productOfName(name) ?? malformed(`product ${JSON.stringify(name)} is unknown`)
    const tcb: Partial<Record<TcbComponent, number>> = {}
    for (const component of componentsOf(product)) {
      const value = extension(certificate, componentOids[component])
      tcb[component] = parseDer(value, (reader) => reader.readSmallInteger())
    }
    return { product, tcb, holder: parseHolder(certificate, product) }
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : 'unreadable'
    throw new AttestationError('certificate_malformed', `endorsement: ${detail}`, { cause })
  }
}

function parseHolder(certificate: Certificate, product: SnpProduct): Endorsement['holder'] {
  const hwid = certificate.extensions.get(`${arc}.4`)
  const csp = certificate.extensions.get(`${arc}.5`)
  if (hwid && csp) malformed('certificate names both a chip and a provider')
  if (hwid) return { kind: 'vcek', chipId: unwrapChipId(hwid.value, chipIdOctets[product]) }
  if (csp) return { kind: 'vlek', cspId: parseDer(csp.value, readIa5String) }
  return malformed('certificate names neither a chip nor a provider')
}

// AMD writes the identifier bare, which is not DER; only the length can tell whether there is a
// tag, because a bare identifier may start with any byte.
function unwrapChipId(value: Bytes, octets: number): Bytes {
  const chipId = value.length === octets ? value : parseDer(value, (r) => r.readOctetString())
  return chipId.length === octets ? chipId : malformed(`chip id has ${chipId.length} bytes`)
}

function extension(certificate: Certificate, oid: string): Bytes {
  return certificate.extensions.get(oid)?.value ?? malformed(`extension ${oid} is missing`)
}

function readIa5String(reader: DerReader): string {
  const { content } = reader.read(tags.ia5String)
  const text = String.fromCharCode(...content.subarray(0, 256))
  if (content.length > 256 || !/^[\x20-\x7e]+$/.test(text)) malformed('text is not printable')
  return text
}

/** The common name of the CA that issues this kind of certificate for this product. */
export const issuerNameOf = (signer: SnpSigner, product: SnpProduct): string =>
  signer === 'vlek' ? `SEV-VLEK-${product}` : `SEV-${product}`

function malformed(detail: string): never {
  throw new AttestationError('certificate_malformed', detail)
}
