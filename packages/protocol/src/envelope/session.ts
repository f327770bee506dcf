/** HPKE sessions (RFC 9180, base mode, export only) over X-Wing, the post-quantum hybrid KEM. */
import type { AttestedWorker } from '@privatemode/attestation'
import { AEAD_EXPORT_ONLY, CipherSuite, KDF_HKDF_SHA256, type KeyPair } from 'hpke'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'
import { sealKeyIdLength } from './prelude.ts'
import { type DrawRandom, xWing } from './x-wing.ts'

/** What a client shares with one verified worker until either's lifetime ends. */
export type Session = {
  readonly workerId: string
  readonly sealKeyId: Bytes
  readonly encapsulation: Bytes
  readonly secret: Bytes
}

const infoLabel = encodeText('privatemode/v1/hpke\0')
const exportLabel = encodeText('privatemode/v1/session\0')
const secretLength = 32

/** Encapsulates to the key that the worker's evidence is bound to, and to nothing else. */
export async function establishSession(
  worker: AttestedWorker,
  random?: DrawRandom,
): Promise<Session> {
  const suite = newSuite(random)
  const publicKey = await suite.DeserializePublicKey(worker.sealKey.publicKey)
  const { encapsulatedSecret, exportedSecret } = await suite.SendExport(
    publicKey,
    exportLabel,
    secretLength,
    { info: sessionInfo(worker.statementDigest) },
  )
  return {
    workerId: worker.workerId,
    sealKeyId: await sealKeyId(worker.sealKey.publicKey),
    encapsulation: new Uint8Array(encapsulatedSecret),
    secret: new Uint8Array(exportedSecret),
  }
}

/** A worker's seal key. It never leaves the memory of the process that made it. */
export type SealKeyPair = {
  readonly id: Bytes
  readonly publicKey: Bytes
  /** The session secret of one encapsulation; `statementDigest` names what the client verified. */
  openSession(encapsulation: Bytes, statementDigest: Uint8Array): Promise<Bytes>
}

export async function createSealKeyPair(): Promise<SealKeyPair> {
  const suite = newSuite()
  return sealKeyPair(suite, await suite.GenerateKeyPair(false))
}

/** The key pair of a seed: for test vectors, where keys must be reproducible. */
export async function deriveSealKeyPair(seed: Bytes): Promise<SealKeyPair> {
  const suite = newSuite()
  return sealKeyPair(suite, await suite.DeriveKeyPair(seed, false))
}

export async function sealKeyId(publicKey: Bytes): Promise<Bytes> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', publicKey))
  return digest.subarray(0, sealKeyIdLength)
}

async function sealKeyPair(suite: CipherSuite, pair: KeyPair): Promise<SealKeyPair> {
  const publicKey = new Uint8Array(await suite.SerializePublicKey(pair.publicKey))
  return {
    id: await sealKeyId(publicKey),
    publicKey,
    async openSession(encapsulation, statementDigest) {
      try {
        const info = sessionInfo(statementDigest)
        return new Uint8Array(
          await suite.ReceiveExport(pair, encapsulation, exportLabel, secretLength, { info }),
        )
      } catch (cause) {
        throw new EnvelopeError('malformed', 'the encapsulation is not valid', { cause })
      }
    },
  }
}

const newSuite = (random?: DrawRandom) =>
  new CipherSuite(xWing(random), KDF_HKDF_SHA256, AEAD_EXPORT_ONLY)

const sessionInfo = (statementDigest: Uint8Array) =>
  joinBytes([infoLabel, new Uint8Array(statementDigest)])
