/** Parses a file of any format into pieces that look like evidence or collateral. */
import type { TdxCollateral } from '@privatemode/attestation'
import {
  asText,
  decodeBase64,
  decodeHex,
  decodePercent,
  findPemBlocks,
  trimEndOf,
} from './decode-text.ts'
import { FileLimits } from './file-limits.ts'
import { findCertificates, readDer } from './find-der.ts'
import { findReports } from './find-reports.ts'
import { type JsonSlice, sliceJson } from './json-slices.ts'
import type { Bytes, Piece, SignedDocument } from './piece.ts'
import { formatSnpFields } from './snp-fields.ts'

/** Nested encodings: base64 in JSON in base64 is about as deep as tools go. */
const maxDepth = 12

/** Shorter JSON strings cannot contain anything known: even a public key is longer. */
const minStringLength = 48

/** Throws a {@link UsageError} if a file is too complex to parse. */
export function readPieces(file: Bytes): Piece[] {
  return readBytes(file, 0, new FileLimits())
}

function readBytes(bytes: Bytes, depth: number, limits: FileLimits): Piece[] {
  if (bytes.length === 0 || depth > maxDepth) return []
  limits.decoded()
  const response = splitHttp(bytes)
  if (response !== undefined) return readHttp(response, depth, limits)
  const text = asText(bytes)
  if (text !== undefined) return readText(text, bytes, depth, limits)
  const der = readDer(bytes, limits)
  if (der !== undefined) return der
  const embedded = Buffer.from(bytes).toString('latin1')
  const found = [
    ...findReports(bytes),
    ...findCertificates(bytes, limits),
    ...readPem(embedded, depth, limits),
  ]
  return found.length > 0 ? found : [{ kind: 'unknown', bytes }]
}

function readText(encoded: string, bytes: Bytes, depth: number, limits: FileLimits): Piece[] {
  const text = decodePercent(encoded).trim()
  if (text.startsWith('{') || text.startsWith('[')) {
    const slice = sliceJson(text, { maxDepth: maxDepth - depth, count: () => limits.value() })
    if (slice !== undefined) return readJson(slice, depth, limits)
  }
  if (text.startsWith('<')) return [{ kind: 'rim', bytes }]
  if (text.includes('-----BEGIN ')) return readPem(text, depth, limits)
  const decoded = decodeHex(text) ?? decodeBase64(text)
  return decoded === undefined ? [] : readBytes(decoded, depth + 1, limits)
}

function readPem(text: string, depth: number, limits: FileLimits): Piece[] {
  return findPemBlocks(text).flatMap(({ bytes }) => readBytes(bytes, depth + 1, limits))
}

function readJson(slice: JsonSlice, depth: number, limits: FileLimits): Piece[] {
  switch (slice.kind) {
    case 'leaf':
      return readLeaf(slice.text, depth, limits)
    case 'array':
      return slice.items.flatMap((item) => readJson(item, depth + 1, limits))
    case 'object':
      return readObject(slice.members, slice.text, depth, limits)
  }
}

function readLeaf(text: string, depth: number, limits: FileLimits): Piece[] {
  if (text.length < minStringLength || text.startsWith('{')) return []
  const value: unknown = JSON.parse(text)
  if (typeof value === 'string') return readBytes(utf8(value), depth + 1, limits)
  const isBytes =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => Number.isInteger(item) && item >= 0 && item <= 0xff)
  return isBytes ? readBytes(Uint8Array.from(value as number[]), depth + 1, limits) : []
}

type Members = ReadonlyMap<string, JsonSlice>

function readObject(members: Members, text: string, depth: number, limits: FileLimits): Piece[] {
  const isReport = members.has('measurement') && members.has('signature')
  const report = isReport ? formatSnpFields(JSON.parse(text)) : undefined
  if (report !== undefined) return [{ kind: 'snp-report', bytes: report }]
  const document = readSignedDocument(members)
  if (document !== undefined) return [document]
  const collateral = readCollateral(members, depth, limits)
  const rest = [...members].filter(([name]) => !collateral.taken.has(name))
  const pieces = rest.flatMap(([name, slice]) => [
    ...readNonce(name, slice.text),
    ...readJson(slice, depth + 1, limits),
  ])
  return [...collateral.pieces, ...pieces]
}

function readNonce(name: string, raw: string): Piece[] {
  const isNonce = name === 'nonce' && /^"[0-9a-fA-F]{64}"$/.test(raw)
  return isNonce ? [{ kind: 'nonce', hex: raw.slice(1, -1).toLowerCase() }] : []
}

/** Intel's own answers: one signed member, and the signature. */
function readSignedDocument(members: Members): Piece | undefined {
  const signature = unquote(members.get('signature'))
  const tcbInfo = members.get('tcbInfo')?.text
  const identity = members.get('enclaveIdentity')?.text
  if (signature === undefined) return undefined
  if (tcbInfo !== undefined) return { kind: 'tcb-info', document: { text: tcbInfo, signature } }
  if (identity === undefined) return undefined
  return { kind: 'qe-identity', document: { text: identity, signature } }
}

/** Spelled `tcb_info` or `tcbInfo`, depending on the tool's language. */
const collateralNames: ReadonlyMap<string, keyof TdxCollateral> = new Map([
  ['tcbinfoissuerchain', 'tcb_info_issuer_chain'],
  ['tcbinfo', 'tcb_info'],
  ['tcbinfosignature', 'tcb_info_signature'],
  ['qeidentityissuerchain', 'qe_identity_issuer_chain'],
  ['qeidentity', 'qe_identity'],
  ['qeidentitysignature', 'qe_identity_signature'],
  ['pckcrlissuerchain', 'pck_crl_issuer_chain'],
  ['pckcrl', 'pck_crl'],
  ['rootcacrl', 'root_ca_crl'],
])

/** Named fields, as written by verification libraries; a list may be hex, base64 or PEM. */
function readCollateral(members: Members, depth: number, limits: FileLimits) {
  const fields: { -readonly [Name in keyof TdxCollateral]?: string } = {}
  const taken = new Set<string>()
  const pieces: Piece[] = []
  for (const [spelled, slice] of members) {
    const name = collateralNames.get(spelled.replaceAll('_', '').toLowerCase())
    // Some tools keep the final zero of C strings; it is not part of the signed text.
    const value = trimEndOf(unquote(slice) ?? '', '\0')
    if (name === undefined || unquote(slice) === undefined) continue
    taken.add(spelled)
    // Some tools store Intel's whole answer where others store its signed member.
    const whole = value.includes('"signature"') ? readBytes(utf8(value), depth + 1, limits) : []
    if (whole.length > 0) pieces.push(...whole)
    else
      fields[name] = name.endsWith('_crl') ? recodeList(value, depth, limits) : decodePercent(value)
  }
  if (Object.keys(fields).length > 0) pieces.unshift({ kind: 'tdx-collateral', fields })
  return { taken, pieces }
}

/** DER in base64, as in evidence. Anything that is not a list stays unchanged, to be refused. */
function recodeList(value: string, depth: number, limits: FileLimits): string {
  const list = readBytes(utf8(value), depth + 1, limits).find(({ kind }) => kind === 'crl')
  const bytes = list?.kind === 'crl' ? list.bytes : (decodeHex(value) ?? decodeBase64(value))
  return Buffer.from(bytes ?? utf8(value)).toString('base64')
}

type HttpResponse = { readonly head: string; readonly body: Bytes }

function splitHttp(bytes: Bytes): HttpResponse | undefined {
  const blob = Buffer.from(bytes)
  if (!blob.subarray(0, 5).equals(Buffer.from('HTTP/'))) return undefined
  const match = /\r?\n\r?\n/.exec(blob.toString('latin1'))
  if (match === null) return undefined
  const head = blob.subarray(0, match.index).toString('latin1')
  return { head, body: bytes.slice(match.index + match[0].length) }
}

/** Intel sends the signer's chain in a header along with the document. */
function readHttp({ head, body }: HttpResponse, depth: number, limits: FileLimits): Piece[] {
  const chain = head
    .split(/\r?\n/)
    .map((line) => decodePercent(line.slice(line.indexOf(':') + 1).trim()))
    .find((value) => value.includes('-----BEGIN CERTIFICATE-----'))
  const pieces = readBytes(body, depth + 1, limits)
  if (chain === undefined) return pieces
  const withChain = (document: SignedDocument) => ({ ...document, issuerChain: chain })
  const signed = pieces.map((piece): Piece => {
    if (piece.kind !== 'tcb-info' && piece.kind !== 'qe-identity') return piece
    return { ...piece, document: withChain(piece.document) }
  })
  return [...signed, ...readPem(chain, depth, limits)]
}

function unquote(slice: JsonSlice | undefined): string | undefined {
  if (slice === undefined || !slice.text.startsWith('"')) return undefined
  const value: unknown = JSON.parse(slice.text)
  return typeof value === 'string' ? value : undefined
}

const utf8 = (text: string): Bytes => new TextEncoder().encode(text)
