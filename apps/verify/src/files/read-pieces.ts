/** Takes a file apart, whatever form it has, into pieces that look like evidence or collateral. */
import type { TdxCollateral } from '@privatemode/attestation'
import { asText, decodeBase64, decodeHex, decodePercent, findPemBlocks } from './decode-text.ts'
import { findCertificates, readDer } from './find-der.ts'
import { findReports } from './find-reports.ts'
import { sliceJson } from './json-slices.ts'
import type { Bytes, Piece, SignedDocument } from './piece.ts'
import { formatSnpFields } from './snp-fields.ts'

/** Encodings inside encodings: base64 in JSON in base64 is about as deep as tools go. */
const maxDepth = 12

export function readPieces(bytes: Bytes, depth = 0): Piece[] {
  if (bytes.length === 0 || depth > maxDepth) return []
  const response = splitHttp(bytes)
  if (response !== undefined) return readHttp(response, depth)
  const text = asText(bytes)
  if (text !== undefined) return readText(text, bytes, depth)
  const der = readDer(bytes)
  if (der !== undefined) return der
  const embedded = Buffer.from(bytes).toString('latin1')
  const found = [...findReports(bytes), ...findCertificates(bytes), ...readPem(embedded, depth)]
  return found.length > 0 ? found : [{ kind: 'unknown', bytes }]
}

function readText(encoded: string, bytes: Bytes, depth: number): Piece[] {
  const text = decodePercent(encoded).trim()
  if (text.startsWith('{') || text.startsWith('[')) {
    const pieces = readJson(text, depth)
    if (pieces !== undefined) return pieces
  }
  if (text.startsWith('<')) return [{ kind: 'rim', bytes }]
  if (text.includes('-----BEGIN ')) return readPem(text, depth)
  const decoded = decodeHex(text) ?? decodeBase64(text)
  return decoded === undefined ? [] : readPieces(decoded, depth + 1)
}

function readPem(text: string, depth: number): Piece[] {
  return findPemBlocks(text).flatMap(({ bytes }) => readPieces(bytes, depth + 1))
}

/** Undefined where it is not JSON after all. */
function readJson(text: string, depth: number): Piece[] | undefined {
  const slice = depth > maxDepth ? undefined : sliceJson(text)
  if (slice === undefined) return undefined
  switch (slice.kind) {
    case 'leaf':
      return readLeaf(slice.value, depth)
    case 'array':
      return slice.items.flatMap((item) => readJson(item, depth + 1) ?? [])
    case 'object':
      return readObject(slice.members, text, depth)
  }
}

function readLeaf(value: unknown, depth: number): Piece[] {
  if (typeof value === 'string') return readPieces(utf8(value), depth + 1)
  const isBytes =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => Number.isInteger(item) && item >= 0 && item <= 0xff)
  return isBytes ? readPieces(Uint8Array.from(value as number[]), depth + 1) : []
}

function readObject(members: ReadonlyMap<string, string>, text: string, depth: number): Piece[] {
  const report = formatSnpFields(JSON.parse(text))
  if (report !== undefined) return [{ kind: 'snp-report', bytes: report }]
  const document = readSignedDocument(members)
  if (document !== undefined) return [document]
  const collateral = readCollateral(members, depth)
  const rest = [...members].filter(([name]) => !collateral.taken.has(name))
  const pieces = rest.flatMap(([name, raw]) => [
    ...readNonce(name, raw),
    ...(readJson(raw, depth + 1) ?? []),
  ])
  return [...collateral.pieces, ...pieces]
}

function readNonce(name: string, raw: string): Piece[] {
  const isNonce = name === 'nonce' && /^"[0-9a-fA-F]{64}"$/.test(raw)
  return isNonce ? [{ kind: 'nonce', hex: raw.slice(1, -1).toLowerCase() }] : []
}

/** Intel's own answers: one member that is signed, and the signature. */
function readSignedDocument(members: ReadonlyMap<string, string>): Piece | undefined {
  const signature = unquote(members.get('signature'))
  const tcbInfo = members.get('tcbInfo')
  const identity = members.get('enclaveIdentity')
  if (signature === undefined) return undefined
  if (tcbInfo !== undefined) return { kind: 'tcb-info', document: { text: tcbInfo, signature } }
  if (identity === undefined) return undefined
  return { kind: 'qe-identity', document: { text: identity, signature } }
}

/** Spelled as `tcb_info` or `tcbInfo`, by the language of the tool. */
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

/** Fields by their names, as verification libraries write them; a list may be hex, base64 or PEM. */
function readCollateral(members: ReadonlyMap<string, string>, depth: number) {
  const fields: { -readonly [Name in keyof TdxCollateral]?: string } = {}
  const taken = new Set<string>()
  const pieces: Piece[] = []
  for (const [spelled, raw] of members) {
    const name = collateralNames.get(spelled.replaceAll('_', '').toLowerCase())
    // Strings of C keep their final zero in some tools; it is no part of what was signed.
    const value = unquote(raw)?.replace(/\0+$/, '')
    if (name === undefined || value === undefined) continue
    taken.add(spelled)
    // Some tools put Intel's whole answer where others put its signed member.
    const whole = value.includes('"signature"') ? (readJson(value, depth + 1) ?? []) : []
    if (whole.length > 0) pieces.push(...whole)
    else fields[name] = name.endsWith('_crl') ? recodeList(value, depth) : decodePercent(value)
  }
  if (Object.keys(fields).length > 0) pieces.unshift({ kind: 'tdx-collateral', fields })
  return { taken, pieces }
}

/** DER in base64, as evidence has it. What is no list stays what it is, to be refused. */
function recodeList(value: string, depth: number): string {
  const list = readPieces(utf8(value), depth + 1).find(({ kind }) => kind === 'crl')
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

/** Intel answers with the signer's chain in a header beside the document. */
function readHttp({ head, body }: HttpResponse, depth: number): Piece[] {
  const chain = head
    .split(/\r?\n/)
    .map((line) => decodePercent(line.slice(line.indexOf(':') + 1).trim()))
    .find((value) => value.includes('-----BEGIN CERTIFICATE-----'))
  const pieces = readPieces(body, depth + 1)
  if (chain === undefined) return pieces
  const withChain = (document: SignedDocument) => ({ ...document, issuerChain: chain })
  const signed = pieces.map((piece): Piece => {
    if (piece.kind !== 'tcb-info' && piece.kind !== 'qe-identity') return piece
    return { ...piece, document: withChain(piece.document) }
  })
  return [...signed, ...readPem(chain, depth)]
}

function unquote(raw: string | undefined): string | undefined {
  if (raw === undefined || !raw.startsWith('"')) return undefined
  const value: unknown = JSON.parse(raw)
  return typeof value === 'string' ? value : undefined
}

const utf8 = (text: string): Bytes => new TextEncoder().encode(text)
