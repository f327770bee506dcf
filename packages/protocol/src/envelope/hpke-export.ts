/** The part of HPKE (RFC 9180) used here: base mode, HKDF-SHA256, and the exporter only. */
import { shake256 } from '@noble/hashes/sha3.js'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { xWingId, xWingSeedLength } from './x-wing.ts'

const version = encodeText('HPKE-v1')
const hkdfSha256 = 0x0001
/** The AEAD id for export-only: secrets are exported, nothing is sealed. */
const exportOnly = 0xffff
const baseMode = 0
const hashLength = 32

/**
 * KeySchedule (section 5.1) and Export (section 5.3) in one step: 32 bytes from a KEM's shared
 * secret. Only tests pass `aeadId`, to use published vectors.
 */
export async function exportSecret(
  kemSecret: Bytes,
  info: Bytes,
  exporterContext: Bytes,
  aeadId = exportOnly,
): Promise<Bytes> {
  const ids = [xWingId, hkdfSha256, aeadId].map(twoBytes)
  const suite = joinBytes([encodeText('HPKE'), ...ids])
  const none = new Uint8Array()
  const pskIdHash = await extract(suite, none, 'psk_id_hash', none)
  const infoHash = await extract(suite, none, 'info_hash', info)
  const context = joinBytes([Uint8Array.of(baseMode), pskIdHash, infoHash])
  const secret = await extract(suite, kemSecret, 'secret', none)
  const exporterSecret = await expand(suite, secret, 'exp', context)
  return expand(suite, exporterSecret, 'sec', exporterContext)
}

/**
 * DeriveKeyPair of draft-ietf-hpke-pq, section 4: the seed of a key pair, derived with SHAKE256.
 */
export function deriveXWingSeed(keyMaterial: Bytes): Bytes {
  const name = encodeText('DeriveKeyPair')
  const kemSuite = joinBytes([encodeText('KEM'), twoBytes(xWingId)])
  const lengths = [twoBytes(name.length), name, twoBytes(xWingSeedLength)]
  const input = joinBytes([keyMaterial, version, kemSuite, ...lengths])
  return new Uint8Array(shake256(input, { dkLen: xWingSeedLength }))
}

/** LabeledExtract (section 4). */
function extract(suite: Bytes, salt: Bytes, label: string, material: Bytes): Promise<Bytes> {
  // WebCrypto refuses an empty key; HMAC pads short keys with zeros, so the two are equivalent.
  const key = salt.length === 0 ? new Uint8Array(hashLength) : salt
  return hmac(key, joinBytes([version, suite, encodeText(label), material]))
}

/** LabeledExpand (section 4) to one block: no caller needs more. */
function expand(suite: Bytes, secret: Bytes, label: string, info: Bytes): Promise<Bytes> {
  const labeled = [twoBytes(hashLength), version, suite, encodeText(label), info]
  return hmac(secret, joinBytes([...labeled, Uint8Array.of(1)]))
}

async function hmac(raw: Bytes, message: Bytes): Promise<Bytes> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', raw, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, message))
}

function twoBytes(value: number): Bytes {
  return Uint8Array.of(value >> 8, value & 0xff)
}
