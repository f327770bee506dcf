/** Signature verification with WebCrypto, and the algorithm identifiers of X.509, CRLs and OCSP. */
import type { Bytes } from '../bytes.ts'
import { contextTag, type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError } from '../verdict.ts'

export type HashName = 'SHA-256' | 'SHA-384' | 'SHA-512'

export type SignatureAlgorithm =
  /** `der` is ECDSA-Sig-Value (X.509); `raw` is r ‖ s, big-endian, fixed length. */
  | { readonly kind: 'ecdsa'; readonly hash: HashName; readonly encoding: 'der' | 'raw' }
  | { readonly kind: 'rsa-pss'; readonly hash: HashName; readonly saltLength: number }
  | { readonly kind: 'rsa-pkcs1'; readonly hash: HashName }
  /** Parsed so that the rest can be read; it never verifies. */
  | { readonly kind: 'unsupported'; readonly oid: string }

const hashOids: Readonly<Record<string, HashName>> = {
  '2.16.840.1.101.3.4.2.1': 'SHA-256',
  '2.16.840.1.101.3.4.2.2': 'SHA-384',
  '2.16.840.1.101.3.4.2.3': 'SHA-512',
}
const ecdsaOids: Readonly<Record<string, HashName>> = {
  '1.2.840.10045.4.3.2': 'SHA-256',
  '1.2.840.10045.4.3.3': 'SHA-384',
  '1.2.840.10045.4.3.4': 'SHA-512',
}
const rsaPkcs1Oids: Readonly<Record<string, HashName>> = {
  '1.2.840.113549.1.1.11': 'SHA-256',
  '1.2.840.113549.1.1.12': 'SHA-384',
  '1.2.840.113549.1.1.13': 'SHA-512',
}
const rsaPssOid = '1.2.840.113549.1.1.10'
const mgf1Oid = '1.2.840.113549.1.1.8'
const hashLength: Readonly<Record<HashName, number>> = {
  'SHA-256': 32,
  'SHA-384': 48,
  'SHA-512': 64,
}
type Curve = { readonly name: 'P-256' | 'P-384'; readonly octets: number }
const curves: Readonly<Record<string, Curve>> = {
  '1.2.840.10045.3.1.7': { name: 'P-256', octets: 32 },
  '1.3.132.0.34': { name: 'P-384', octets: 48 },
}

/**
 * True if `signature` is a valid signature over `data` by the key. A key or algorithm that does not
 * match, and a signature that does not parse, yield false: a check that could not run has failed.
 */
export async function verifySignature(
  spki: Bytes,
  algorithm: SignatureAlgorithm,
  data: Bytes,
  signature: Bytes,
): Promise<boolean> {
  try {
    return await verify(spki, algorithm, data, signature)
  } catch {
    return false
  }
}

/** Reads an AlgorithmIdentifier of a signature. */
export function readSignatureAlgorithm(parent: DerReader): SignatureAlgorithm {
  const reader = parent.enter()
  const oid = reader.readOid()
  const ecdsaHash = ecdsaOids[oid]
  if (ecdsaHash) {
    reader.end() // RFC 5758, 3.2: parameters are absent
    return { kind: 'ecdsa', hash: ecdsaHash, encoding: 'der' }
  }
  const pkcs1Hash = rsaPkcs1Oids[oid]
  if (pkcs1Hash) {
    readAbsentOrNull(reader)
    return { kind: 'rsa-pkcs1', hash: pkcs1Hash }
  }
  if (oid === rsaPssOid) return readPssParameters(reader)
  return { kind: 'unsupported', oid }
}

// RFC 4055, 3.1. Only what is in use: one hash for both purposes, a salt as long as the hash.
function readPssParameters(reader: DerReader): SignatureAlgorithm {
  const parameters = reader.enter()
  reader.end()
  const explicitHash = parameters.enterOptional(contextTag(0))
  const explicitMask = parameters.enterOptional(contextTag(1))
  const explicitSalt = parameters.enterOptional(contextTag(2))
  const explicitTrailer = parameters.enterOptional(contextTag(3))
  parameters.end()
  // The defaults are SHA-1 and a 20-byte salt, which none of our vendors may use.
  if (!explicitHash || !explicitMask || !explicitSalt) return unsupportedPss
  const hash = readHash(explicitHash)
  explicitHash.end()
  const mask = explicitMask.enter()
  explicitMask.end()
  const maskOid = mask.readOid()
  const maskHash = readHash(mask)
  mask.end()
  const saltLength = explicitSalt.readSmallInteger()
  explicitSalt.end()
  // AMD includes the default trailer field, which DER would omit.
  const trailer = explicitTrailer?.readSmallInteger() ?? 1
  explicitTrailer?.end()
  if (!hash || maskOid !== mgf1Oid || maskHash !== hash || trailer !== 1) return unsupportedPss
  if (saltLength !== hashLength[hash]) return unsupportedPss
  return { kind: 'rsa-pss', hash, saltLength }
}

const unsupportedPss: SignatureAlgorithm = { kind: 'unsupported', oid: rsaPssOid }

function readHash(parent: DerReader): HashName | undefined {
  const reader = parent.enter()
  const oid = reader.readOid()
  readAbsentOrNull(reader)
  return hashOids[oid]
}

function readAbsentOrNull(reader: DerReader): void {
  if (!reader.atEnd) reader.readNull()
  reader.end()
}

async function verify(
  spki: Bytes,
  algorithm: SignatureAlgorithm,
  data: Bytes,
  signature: Bytes,
): Promise<boolean> {
  switch (algorithm.kind) {
    case 'ecdsa': {
      const curve = readCurve(spki)
      if (!curve) return false
      const raw =
        algorithm.encoding === 'raw' ? signature : rawEcdsaSignature(signature, curve.octets)
      const key = await importKey(spki, { name: 'ECDSA', namedCurve: curve.name })
      return crypto.subtle.verify({ name: 'ECDSA', hash: algorithm.hash }, key, raw, data)
    }
    case 'rsa-pss': {
      const key = await importRsaKey(spki, { name: 'RSA-PSS', hash: algorithm.hash })
      const parameters = { name: 'RSA-PSS', saltLength: algorithm.saltLength }
      return crypto.subtle.verify(parameters, key, signature, data)
    }
    case 'rsa-pkcs1': {
      const key = await importRsaKey(spki, { name: 'RSASSA-PKCS1-v1_5', hash: algorithm.hash })
      return crypto.subtle.verify('RSASSA-PKCS1-v1_5', key, signature, data)
    }
    case 'unsupported':
      return false
  }
}

type EcParameters = { readonly name: 'ECDSA'; readonly namedCurve: string }
type RsaParameters = { readonly name: 'RSA-PSS' | 'RSASSA-PKCS1-v1_5'; readonly hash: HashName }

const importKey = (spki: Bytes, algorithm: EcParameters | RsaParameters) =>
  crypto.subtle.importKey('spki', spki, algorithm, false, ['verify'])

async function importRsaKey(spki: Bytes, algorithm: RsaParameters): Promise<CryptoKey> {
  const key = await importKey(spki, algorithm)
  const { modulusLength = 0 } = key.algorithm as { modulusLength?: number }
  if (modulusLength < 2048 || modulusLength > 8192) {
    throw new AttestationError('signature_invalid', `rsa key has ${modulusLength} bits`)
  }
  return key
}

/** Undefined if the curve is unsupported. Importing the key checks that it is for ECDSA. */
function readCurve(spki: Bytes): Curve | undefined {
  return parseDer(spki, (outer) => {
    const algorithm = outer.enter().enter()
    algorithm.readOid()
    return curves[algorithm.readOid()]
  })
}

/** ECDSA-Sig-Value (RFC 3279, 2.2.3) as r ‖ s of fixed length. */
function rawEcdsaSignature(signature: Bytes, octets: number): Bytes {
  return parseDer(signature, (outer) => {
    const pair = outer.enter()
    const raw = new Uint8Array(2 * octets)
    for (const end of [octets, 2 * octets]) {
      const integer = pair.readIntegerBytes(tags.integer)
      const magnitude = integer[0] === 0 ? integer.subarray(1) : integer
      if ((integer[0] ?? 0x80) >= 0x80 || magnitude.length > octets) {
        throw new AttestationError('signature_invalid', 'r or s is out of range')
      }
      raw.set(magnitude, end - magnitude.length)
    }
    pair.end()
    return raw
  })
}
