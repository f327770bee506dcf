/** Writes and signs RIM documents for tests; the canonical text is spelled out here, not computed. */
import { type Bytes, formatBase64, utf8 } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import type { TestKey } from './test-key.ts'

export type RimEntry = {
  readonly index: number
  /** Hex. */
  readonly values: readonly string[]
  readonly active?: boolean
  readonly size?: number
}

export type RimParts = {
  readonly product: string
  readonly edition: string
  readonly version: string
  readonly entries: readonly RimEntry[]
}

export type RimSigner = {
  readonly key: TestKey
  /** DER, signer first, root last. */
  readonly chain: readonly Bytes[]
}

const swid = 'http://standards.iso.org/iso/19770/-2/2015/schema.xsd'
const sha384Namespace = 'http://www.w3.org/2001/04/xmlenc#sha384'
const tcg =
  'https://trustedcomputinggroup.org/resource/tcg-reference-integrity-manifest-rim-information-model/'
const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const outerNamespaces = `xmlns="${swid}"`
const prefixedNamespaces = `xmlns:ns0="${swid}" xmlns:ns2="${sha384Namespace}"`
const end = '</SoftwareIdentity>'

/** The document without its signature, in canonical form. */
export function writeRim({ product, edition, version, entries }: RimParts): string {
  return [
    `<SoftwareIdentity ${outerNamespaces} ${prefixedNamespaces} name="${product}" tagVersion="0">`,
    '    <ns0:Entity name="Test Vendor" role="softwareCreator tagCreator"></ns0:Entity>',
    `    <ns0:Meta xmlns:ns1="${tcg}" colloquialVersion="${version}" edition="${edition}" product="${product}" ns1:PlatformModel="${product}"></ns0:Meta>`,
    '    <ns0:Payload>',
    ...entries.map((entry) => `        ${writeResource(entry)}`),
    '    </ns0:Payload>',
    end,
  ].join('\n')
}

function writeResource({ index, values, active = true, size = 48 }: RimEntry): string {
  const hashes = values.map((value, n) => ` ns2:Hash${n}="${value}"`).join('')
  return `<ns0:Resource active="${active ? 'True' : 'False'}" alternatives="${values.length}" index="${index}" name="Measurement_${index}" size="${size}" type="Measurement"${hashes}></ns0:Resource>`
}

export type SignatureParts = {
  readonly reference?: string
  readonly canonicalization?: string
  readonly method?: string
  readonly transforms?: readonly string[]
  readonly digestMethod?: string
  /** Inside the first transform. */
  readonly transformContent?: string
  /** Inside SignedInfo, after the reference. */
  readonly more?: string
}

/** Signs the canonical text `body`; the document spells empty elements in their short form. */
export async function signRim(
  body: string,
  signer: RimSigner,
  parts: SignatureParts = {},
): Promise<Bytes> {
  return utf8(placeSignature(relax(body), await writeSignature(body, signer, parts)))
}

export const relax = (canonical: string): string =>
  canonical.replace(/><\/ns0:(Resource|Meta|Entity)>/g, '/>')

export const placeSignature = (document: string, signature: string): string =>
  `${document.slice(0, document.lastIndexOf(end))}${signature}${end}\n`

export async function writeSignature(
  body: string,
  signer: RimSigner,
  parts: SignatureParts = {},
): Promise<string> {
  const digest = formatBase64(await sha384(utf8(body)))
  const signedInfo = writeSignedInfo(digest, parts)
  // As the apex of its own canonical form, SignedInfo shows all namespaces in scope.
  const canonical = signedInfo.replace(
    '<ds:SignedInfo>',
    `<ds:SignedInfo ${outerNamespaces} xmlns:ds="${dsig}" ${prefixedNamespaces}>`,
  )
  const value = formatBase64(await signer.key.signRaw(utf8(canonical)))
  const certificates = signer.chain.map(
    (der) => `<ds:X509Certificate>${breakLines(formatBase64(der))}</ds:X509Certificate>`,
  )
  return [
    `<ds:Signature xmlns:ds="${dsig}">`,
    signedInfo,
    `<ds:SignatureValue>${value}</ds:SignatureValue>`,
    `<ds:KeyInfo><ds:X509Data>${certificates.join('')}</ds:X509Data></ds:KeyInfo>`,
    '</ds:Signature>',
  ].join('')
}

function writeSignedInfo(digest: string, parts: SignatureParts): string {
  const c14n11 = 'http://www.w3.org/2006/12/xml-c14n11'
  const transforms = parts.transforms ?? [`${dsig}enveloped-signature`, c14n11]
  return [
    '<ds:SignedInfo>',
    algorithm('CanonicalizationMethod', parts.canonicalization ?? c14n11),
    algorithm(
      'SignatureMethod',
      parts.method ?? 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384',
    ),
    `<ds:Reference URI="${parts.reference ?? ''}"><ds:Transforms>`,
    ...transforms.map((uri, n) =>
      algorithm('Transform', uri, n === 0 ? parts.transformContent : ''),
    ),
    '</ds:Transforms>',
    algorithm(
      'DigestMethod',
      parts.digestMethod ?? 'http://www.w3.org/2001/04/xmldsig-more#sha384',
    ),
    `<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>`,
    parts.more ?? '',
    '</ds:SignedInfo>',
  ].join('')
}

const algorithm = (name: string, uri: string, content = ''): string =>
  `<ds:${name} Algorithm="${uri}">${content}</ds:${name}>`

const breakLines = (text: string): string => text.replace(/(.{64})/g, '$1\n')
