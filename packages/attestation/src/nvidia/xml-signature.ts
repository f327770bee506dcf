/** Verifies an enveloped XML signature (XML-DSig) over a whole document, in the one form RIMs use. */
import { type Bytes, equalBytes, parseBase64 } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import { type Certificate, parseCertificate } from '../x509/certificate.ts'
import { type ChainTrust, describe, verifyChain } from '../x509/chain.ts'
import { verifySignature } from '../x509/signature.ts'
import { canonicalize } from './c14n.ts'
import { childElements, readAttributes, readText } from './xml-fields.ts'
import { parseXml, type XmlElement } from './xml-reader.ts'

const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const c14n11 = 'http://www.w3.org/2006/12/xml-c14n11'
const enveloped = `${dsig}enveloped-signature`
const ecdsaSha384 = 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384'
const sha384Uri = 'http://www.w3.org/2001/04/xmldsig-more#sha384'

export type SignedXml = {
  /** Parsed again from the exact bytes that were hashed: it contains nothing the signature does not cover. */
  readonly root: XmlElement
  /** Signer first, pinned root last. */
  readonly chain: readonly Certificate[]
}

/** Refuses a document that is not entirely covered by one signature of a trusted signer. */
export async function verifySignedXml(
  bytes: Bytes,
  trust: ChainTrust,
  transcript: Transcript,
  idPrefix: string,
): Promise<SignedXml> {
  const document = transcript.attempt(idPrefix, () => parseXml(bytes))
  const signature = transcript.attempt(idPrefix, () => readSignature(document))
  const chain = await verifyChain(signature.certificates, trust, transcript, `${idPrefix}/chain`)
  const [signer] = chain
  const signedInfo = canonicalize(signature.signedInfo, {
    inherited: new Map([...document.declarations, ...signature.element.declarations]),
  })
  const algorithm = { kind: 'ecdsa', hash: 'SHA-384', encoding: 'raw' } as const
  transcript.require(
    await verifySignature(signer.spki, algorithm, signedInfo, signature.value),
    `${idPrefix}/signature`,
    'collateral_invalid',
    `signature must be by ${describe(signer)}`,
  )
  const signedPart = canonicalize(document, { without: signature.element })
  transcript.require(
    equalBytes(await sha384(signedPart), signature.digest),
    `${idPrefix}/digest`,
    'collateral_invalid',
    'digest of the document must be the one that was signed',
  )
  return { root: parseXml(signedPart), chain }
}

/** The certificates that a document names for its signer, signer first; verifies nothing. */
export const readSignerChain = (bytes: Bytes): readonly Certificate[] =>
  readSignature(parseXml(bytes)).certificates

type Signature = {
  readonly element: XmlElement
  readonly signedInfo: XmlElement
  readonly digest: Bytes
  readonly value: Bytes
  readonly certificates: readonly Certificate[]
}

/** Everything is matched against the one accepted form; anything unexpected is refused. */
function readSignature(document: XmlElement): Signature {
  // A second signature anywhere, or a nested one, would enable signature wrapping.
  if (countSignatures(document) !== 1) malformed('expected exactly one signature')
  const element = document.children.find(isSignature) ?? malformed('signature is not at the top')
  readAttributes(element, [])
  const [signedInfo, value, keyInfo] = expectChildren(element, [
    'SignedInfo',
    'SignatureValue',
    'KeyInfo',
  ])
  readAttributes(value, [])
  return {
    element,
    signedInfo,
    digest: readSignedInfo(signedInfo),
    value: readBase64(value),
    certificates: readCertificates(keyInfo),
  }
}

/** Returns the digest of the single reference, which must cover the whole document. */
function readSignedInfo(signedInfo: XmlElement): Bytes {
  readAttributes(signedInfo, [])
  const [canonicalization, method, reference] = expectChildren(signedInfo, [
    'CanonicalizationMethod',
    'SignatureMethod',
    'Reference',
  ])
  expectAlgorithm(canonicalization, c14n11)
  expectAlgorithm(method, ecdsaSha384)
  const { URI } = readAttributes(reference, ['URI'])
  if (URI !== '') malformed(`reference to "${URI}", expected the whole document`)
  const [transforms, digestMethod, digestValue] = expectChildren(reference, [
    'Transforms',
    'DigestMethod',
    'DigestValue',
  ])
  readAttributes(transforms, [])
  const [first, second] = expectChildren(transforms, ['Transform', 'Transform'])
  expectAlgorithm(first, enveloped)
  expectAlgorithm(second, c14n11)
  expectAlgorithm(digestMethod, sha384Uri)
  readAttributes(digestValue, [])
  return readBase64(digestValue)
}

function readCertificates(keyInfo: XmlElement): Certificate[] {
  readAttributes(keyInfo, [])
  const [data] = expectChildren(keyInfo, ['X509Data'])
  readAttributes(data, [])
  return childElements(data).map((element) => {
    expectName(element, 'X509Certificate')
    readAttributes(element, [])
    return parseCertificate(readBase64(element))
  })
}

function expectChildren<const Names extends readonly string[]>(
  parent: XmlElement,
  names: Names,
): { [Index in keyof Names]: XmlElement } {
  const children = childElements(parent)
  if (children.length !== names.length) {
    malformed(`${parent.localName} has ${children.length} children, expected ${names.length}`)
  }
  for (const [index, child] of children.entries()) expectName(child, names[index] ?? '')
  return children as unknown as { [Index in keyof Names]: XmlElement }
}

function expectName(element: XmlElement, localName: string): void {
  if (element.localName !== localName || element.namespace !== dsig) {
    malformed(`element ${element.localName}, expected ${localName}`)
  }
}

function expectAlgorithm(element: XmlElement, uri: string): void {
  const { Algorithm } = readAttributes(element, ['Algorithm'])
  if (Algorithm !== uri) malformed(`${element.localName} ${Algorithm}, expected ${uri}`)
  if (element.children.length > 0) malformed(`${element.localName} has parameters`)
}

function readBase64(element: XmlElement): Bytes {
  // XML Schema allows line breaks in base64, and nothing else.
  const text = readText(element).replace(/[ \n\t]/g, '')
  return parseBase64(text) ?? malformed(`${element.localName} is not base64`)
}

const isSignature = (node: XmlElement | string): node is XmlElement =>
  typeof node !== 'string' && node.localName === 'Signature' && node.namespace === dsig

function countSignatures(element: XmlElement): number {
  let count = isSignature(element) ? 1 : 0
  for (const child of element.children) {
    if (typeof child !== 'string') count += countSignatures(child)
  }
  return count
}

function malformed(detail: string): never {
  throw new AttestationError('collateral_malformed', `xml signature: ${detail}`)
}
