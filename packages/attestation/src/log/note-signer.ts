/** Keys that sign notes: the log's own, and those of witnesses. */
import { type Bytes, concatBytes, formatBase64, formatHex, parseBase64 } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { formatVerifierKey, type NoteKeyType, noteKeyId, type VerifierKey } from './signed-note.ts'

export type NoteSigner = { readonly key: VerifierKey; readonly privateKey: CryptoKey }

// RFC 8410, section 7: the part of a PKCS #8 Ed25519 key that precedes its 32-byte seed.
const pkcs8Prefix = Uint8Array.of(
  0x30,
  0x2e,
  0x02,
  0x01,
  0x00,
  0x30,
  0x05,
  0x06,
  0x03,
  0x2b,
  0x65,
  0x70,
  0x04,
  0x22,
  0x04,
  0x20,
)

/** Creates a key; `text` is its stored form, which is secret, and `verifierKey` the public one. */
export async function createNoteSigner(
  name: string,
  type: NoteKeyType = 'ed25519',
): Promise<{ readonly text: string; readonly verifierKey: string }> {
  const seed = crypto.getRandomValues(new Uint8Array(32))
  const publicKey = await publicKeyOf(await importSeed(seed))
  const id = await noteKeyId(name, type, publicKey)
  const material = concatBytes(Uint8Array.of(type === 'ed25519' ? 0x01 : 0x04), seed)
  return {
    text: `PRIVATE+KEY+${name}+${formatHex(id)}+${formatBase64(material)}`,
    verifierKey: formatVerifierKey({ name, id, type, publicKey }),
  }
}

/** Parses the stored form, which is that of Go's `note` package. */
export async function parseNoteSigner(text: string): Promise<NoteSigner> {
  const match = /^PRIVATE\+KEY\+([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(text.trim())
  const bytes = parseBase64(match?.[3] ?? '')
  const type = bytes?.[0] === 0x01 ? 'ed25519' : bytes?.[0] === 0x04 ? 'cosignature/v1' : undefined
  const name = match?.[1]
  if (name === undefined || bytes?.length !== 33 || type === undefined) {
    throw new AttestationError('log_malformed', 'signing key has an unknown form')
  }
  const privateKey = await importSeed(bytes.subarray(1))
  const publicKey = await publicKeyOf(privateKey)
  const id = await noteKeyId(name, type, publicKey)
  if (formatHex(id) !== match?.[2]) {
    throw new AttestationError('log_malformed', `signing key of ${name} has a wrong key id`)
  }
  return { key: { name, id, type, publicKey }, privateKey }
}

export async function signEd25519(privateKey: CryptoKey, message: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, message))
}

async function importSeed(seed: Uint8Array): Promise<CryptoKey> {
  const pkcs8 = concatBytes(pkcs8Prefix, seed)
  return crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign'])
}

// WebCrypto derives a public key from a private one only through JWK.
async function publicKeyOf(privateKey: CryptoKey): Promise<Bytes> {
  const { x } = await crypto.subtle.exportKey('jwk', privateKey)
  const base64 = `${x?.replaceAll('-', '+').replaceAll('_', '/')}=`
  return parseBase64(base64) ?? new Uint8Array()
}
