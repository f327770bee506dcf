import { beforeAll, expect, test } from 'bun:test'
import { issueCrl } from '../../../../packages/attestation/src/testing/test-authority.ts'
import {
  formatPem,
  makeTestIntel,
  type TestIntel,
} from '../../../../packages/attestation/src/testing/test-intel.ts'
import type { Bytes, Piece } from './piece.ts'
import { readPieces } from './read-pieces.ts'

let intel: TestIntel
let quote: Bytes
let crl: Bytes

beforeAll(async () => {
  intel = await makeTestIntel()
  quote = await intel.makeQuote()
  crl = await issueCrl({ issuer: intel.ca })
})

const utf8 = (text: string): Bytes => new TextEncoder().encode(text)
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const kinds = (pieces: readonly Piece[]): string[] => pieces.map(({ kind }) => kind)
const join = (...parts: Uint8Array[]): Bytes => new Uint8Array(Buffer.concat(parts))

test('DER is classified: certificates, lists, and several in a row', () => {
  expect(kinds(readPieces(intel.rootDer))).toEqual(['certificate'])
  expect(kinds(readPieces(crl))).toEqual(['crl'])
  expect(kinds(readPieces(join(intel.caDer, intel.rootDer, crl)))).toEqual([
    'certificate',
    'certificate',
    'crl',
  ])
})

test('every block of a PEM archive is found, with any text in between', () => {
  const list = `-----BEGIN X509 CRL-----\n${base64(crl)}\n-----END X509 CRL-----`
  const text = `Archive\n-- a.pem --\n${formatPem(intel.caDer, intel.rootDer)}-- b --\n${list}`
  expect(kinds(readPieces(utf8(text)))).toEqual(['certificate', 'certificate', 'crl'])
})

test('a quote is found inside a blob, and a certificate in the surrounding bytes', () => {
  const pieces = readPieces(join(new Uint8Array(40).fill(0xff), quote, intel.rootDer))
  expect(pieces[0]).toEqual({ kind: 'tdx-quote', bytes: join(quote, intel.rootDer) })
  expect(pieces).toContainEqual({ kind: 'certificate', bytes: intel.rootDer })
})

test('nested encodings are decoded', () => {
  const inner = JSON.stringify({ device: { quote: hex(quote) } })
  const outer = JSON.stringify([
    { evidence: base64(utf8(inner)), certificate: base64(utf8(formatPem(intel.rootDer))) },
  ])
  const pieces = readPieces(utf8(outer))
  expect(pieces).toContainEqual({ kind: 'tdx-quote', bytes: quote })
  expect(pieces.at(-1)).toEqual({ kind: 'certificate', bytes: intel.rootDer })
})

test('endless nesting is abandoned', () => {
  let text = hex(quote)
  for (let depth = 0; depth < 20; depth += 1) text = JSON.stringify([text, {}])
  expect(readPieces(utf8(text))).toEqual([])
})

test('a byte array in JSON is bytes', () => {
  const text = JSON.stringify({ data: [...quote], other: [1, 2, 'x'] })
  expect(readPieces(utf8(text))).toContainEqual({ kind: 'tdx-quote', bytes: quote })
})

test('the signed member of an answer keeps its exact text', async () => {
  const { tcb_info, tcb_info_signature: signature } = await intel.makeCollateral()
  const spaced = tcb_info.replace('{', '{ ').replace('}', '\t}')
  const answer = `{ "tcbInfo" : ${spaced} , "signature":"${signature}"}\n`
  expect(readPieces(utf8(answer))).toEqual([
    { kind: 'tcb-info', document: { text: spaced, signature } },
  ])
})

test("an HTTP response contains the signer's chain in its header", async () => {
  const { qe_identity: text, qe_identity_signature: signature } = await intel.makeCollateral()
  const chain = formatPem(intel.signerDer, intel.rootDer)
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSGX-Enclave-Identity-Issuer-Chain: ${encodeURIComponent(chain)}\r\n\r\n`
  const pieces = readPieces(utf8(`${head}{"enclaveIdentity":${text},"signature":"${signature}"}`))
  expect(pieces[0]).toEqual({
    kind: 'qe-identity',
    document: { text, signature, issuerChain: chain },
  })
  expect(kinds(pieces.slice(1))).toEqual(['certificate', 'certificate'])
})

test('an HTTP response may have a binary body', () => {
  const pieces = readPieces(join(utf8('HTTP/1.1 200 OK\n\n'), crl))
  expect(pieces).toEqual([{ kind: 'crl', bytes: crl }])
})

test('named collateral is read in either spelling; lists in any encoding', async () => {
  const collateral = await intel.makeCollateral()
  const snake = readPieces(utf8(JSON.stringify({ ...collateral, pck_crl: hex(crl) })))
  expect(snake).toEqual([
    { kind: 'tdx-collateral', fields: { ...collateral, pck_crl: base64(crl) } },
  ])
  const camel = {
    tcbInfo: `${collateral.tcb_info}\0`,
    tcbInfoSignature: collateral.tcb_info_signature,
    pckCrl: `-----BEGIN X509 CRL-----\n${base64(crl)}\n-----END X509 CRL-----`,
  }
  const { tcb_info, tcb_info_signature } = collateral
  expect(readPieces(utf8(JSON.stringify(camel)))).toEqual([
    { kind: 'tdx-collateral', fields: { tcb_info, tcb_info_signature, pck_crl: base64(crl) } },
  ])
})

test("named collateral may contain Intel's whole answer instead of the signed member", async () => {
  const { tcb_info: text, tcb_info_signature: signature } = await intel.makeCollateral()
  const answer = `{"tcbInfo":${text},"signature":"${signature}"}`
  expect(readPieces(utf8(JSON.stringify({ tcb_info: answer })))).toEqual([
    { kind: 'tcb-info', document: { text, signature } },
  ])
})

test('a malformed list is kept, to be refused', () => {
  const pieces = readPieces(utf8(JSON.stringify({ root_ca_crl: 'no list!' })))
  expect(pieces).toEqual([
    { kind: 'tdx-collateral', fields: { root_ca_crl: base64(utf8('no list!')) } },
  ])
})

test('XML is a reference manifest, kept byte for byte', () => {
  const bytes = utf8('\n<?xml version="1.0"?><SoftwareIdentity/>')
  expect(readPieces(bytes)).toEqual([{ kind: 'rim', bytes }])
  const answer = utf8(JSON.stringify({ id: 'x', rim: base64(bytes) }))
  expect(readPieces(answer)).toEqual([{ kind: 'rim', bytes }])
})

test('unknown text yields nothing, and unknown bytes are kept', () => {
  expect(readPieces(utf8('hello, world'))).toEqual([])
  expect(readPieces(new Uint8Array())).toEqual([])
  const bytes = Uint8Array.of(0, 1, 2, 0xff)
  expect(readPieces(bytes)).toEqual([{ kind: 'unknown', bytes }])
})
