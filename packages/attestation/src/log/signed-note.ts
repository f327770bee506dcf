/** Signed notes (c2sp.org/signed-note): text with signature lines, and the keys that verify them. */
import {
  type Bytes,
  concatBytes,
  equalBytes,
  formatBase64,
  formatHex,
  parseBase64,
  utf8,
} from '../bytes.ts'
import { sha256 } from '../digest.ts'
import { AttestationError } from '../verdict.ts'

/** The signature types of the specification that we use: note text, and witness cosignatures. */
export type NoteKeyType = 'ed25519' | 'cosignature/v1'

export type VerifierKey = {
  readonly name: string
  readonly id: Bytes
  readonly type: NoteKeyType
  /** Ed25519, 32 bytes. */
  readonly publicKey: Bytes
}

export type NoteSignature = { readonly name: string; readonly id: Bytes; readonly signature: Bytes }

export type SignedNote = {
  /** Including its final newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export const maxNoteBytes = 64 * 1024
const typeBytes = { ed25519: 0x01, 'cosignature/v1': 0x04 } as const
const verifierKey = /^([^\s+]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/u
const keyName = /^[^\s+]{1,200}$/u

/** Splits a note; nothing in it is trusted before a signature by a known key is verified. */
export function parseSignedNote(bytes: Uint8Array): SignedNote {
  if (bytes.length > maxNoteBytes) malformed(`${bytes.length} bytes, at most ${maxNoteBytes}`)
  let whole: string
  try {
    whole = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return malformed('not valid UTF-8')
  }
  // The newline is the only control character allowed in a note.
  if (/\p{Cc}/u.test(whole.replaceAll('\n', ''))) malformed('control character')
  const split = whole.lastIndexOf('\n\n')
  if (split === -1 || !whole.endsWith('\n')) malformed('no signatures')
  const lines = whole.slice(split + 2, -1).split('\n')
  return { text: whole.slice(0, split + 1), signatures: lines.map(parseSignatureLine) }
}

export function formatSignedNote(note: SignedNote): Bytes {
  const lines = note.signatures.map(
    ({ name, id, signature }) => `— ${name} ${formatBase64(concatBytes(id, signature))}\n`,
  )
  return utf8(`${note.text}\n${lines.join('')}`)
}

/** Parses `<name>+<key id>+<base64 of type and key>`; the key id must match the key. */
export async function parseVerifierKey(text: string): Promise<VerifierKey> {
  const [, name = '', idHex = '', material = ''] = verifierKey.exec(text) ?? []
  const bytes = parseBase64(material)
  const type = bytes?.[0] === 0x01 ? 'ed25519' : bytes?.[0] === 0x04 ? 'cosignature/v1' : undefined
  if (bytes?.length !== 33 || type === undefined) {
    return malformed(`verifier key ${JSON.stringify(text)} has an unknown form`)
  }
  const publicKey = bytes.subarray(1)
  const id = await noteKeyId(name, type, publicKey)
  if (formatHex(id) !== idHex)
    malformed(`verifier key of ${name} has id ${idHex}, expected ${formatHex(id)}`)
  return { name, id, type, publicKey }
}

export function formatVerifierKey(key: VerifierKey): string {
  const material = concatBytes(Uint8Array.of(typeBytes[key.type]), key.publicKey)
  return `${key.name}+${formatHex(key.id)}+${formatBase64(material)}`
}

/** Undefined if the key did not sign; refuses the note if its signature is invalid. */
export async function verifiedSignature(
  note: SignedNote,
  key: VerifierKey,
  verify: (signature: NoteSignature) => Promise<boolean>,
): Promise<NoteSignature | undefined> {
  const signature = note.signatures.find(
    ({ name, id }) => name === key.name && equalBytes(id, key.id),
  )
  if (signature !== undefined && !(await verify(signature))) {
    throw new AttestationError('log_signature_invalid', `signature by ${key.name} is invalid`)
  }
  return signature
}

export async function verifyEd25519(
  publicKey: Bytes,
  signature: Bytes,
  message: Bytes,
): Promise<boolean> {
  if (signature.length !== 64) return false
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, signature, message)
}

/** The first four bytes of SHA-256(name ‖ newline ‖ type ‖ public key). */
export async function noteKeyId(
  name: string,
  type: NoteKeyType,
  publicKey: Uint8Array,
): Promise<Bytes> {
  const input = concatBytes(utf8(`${name}\n`), Uint8Array.of(typeBytes[type]), publicKey)
  return (await sha256(input)).slice(0, 4)
}

function parseSignatureLine(line: string): NoteSignature {
  const [dash, name = '', encoded = '', ...more] = line.split(' ')
  const bytes = parseBase64(encoded)
  if (
    dash !== '—' ||
    !keyName.test(name) ||
    more.length > 0 ||
    bytes === undefined ||
    bytes.length < 5
  ) {
    return malformed('a signature line has an unknown form')
  }
  return { name, id: bytes.slice(0, 4), signature: bytes.slice(4) }
}

function malformed(reason: string): never {
  throw new AttestationError('log_malformed', `signed note: ${reason}`)
}
