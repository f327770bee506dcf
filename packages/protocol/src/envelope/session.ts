/** HPKE sessions (RFC 9180, base mode, export only) over X-Wing, the post-quantum hybrid KEM. */
import type { AttestedWorker } from '@privatemode/attestation'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'
import { deriveXWingSeed, exportSecret } from './hpke-export.ts'
import { sealKeyIdLength } from './prelude.ts'
import {
  createXWingKeyPair,
  type DrawRandom,
  encapsulateXWing,
  type XWingKeyPair,
} from './x-wing.ts'

/** What a client shares with one verified worker until either side's lifetime ends. */
export type Session = {
  readonly workerId: string
  readonly sealKeyId: Bytes
  readonly encapsulation: Bytes
  readonly secret: Bytes
}

const infoLabel = encodeText('privatemode/v1/hpke\0')
const exportLabel = encodeText('privatemode/v1/session\0')

/** Encapsulates to the key that the worker's evidence is bound to, and to nothing else. */
export async function establishSession(
  worker: AttestedWorker,
  random?: DrawRandom,
): Promise<Session> {
  const { publicKey } = worker.sealKey
  const { secret, encapsulation } = await encapsulateXWing(publicKey, random)
  return {
    workerId: worker.workerId,
    sealKeyId: await sealKeyId(publicKey),
    encapsulation,
    secret: await exportSecret(secret, sessionInfo(worker.statementDigest), exportLabel),
  }
}

/** A worker's seal key. It never leaves the memory of the process that made it. */
export type SealKeyPair = {
  readonly id: Bytes
  readonly publicKey: Bytes
  /**
   * The session secret of one encapsulation; `statementDigest` identifies what the client verified.
   */
  openSession(encapsulation: Bytes, statementDigest: Uint8Array): Promise<Bytes>
}

export async function createSealKeyPair(): Promise<SealKeyPair> {
  return sealKeyPair(await createXWingKeyPair())
}

/** Derives a key pair from a seed: for test vectors, where keys must be reproducible. */
export async function deriveSealKeyPair(seed: Bytes): Promise<SealKeyPair> {
  return sealKeyPair(await createXWingKeyPair(deriveXWingSeed(seed)))
}

export async function sealKeyId(publicKey: Bytes): Promise<Bytes> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', publicKey))
  return digest.subarray(0, sealKeyIdLength)
}

async function sealKeyPair(pair: XWingKeyPair): Promise<SealKeyPair> {
  const { publicKey } = pair
  return {
    id: await sealKeyId(publicKey),
    publicKey,
    async openSession(encapsulation, statementDigest) {
      try {
        const secret = await pair.decapsulate(encapsulation)
        return await exportSecret(secret, sessionInfo(statementDigest), exportLabel)
      } catch (cause) {
        throw new EnvelopeError('malformed', 'the encapsulation is not valid', { cause })
      }
    },
  }
}

const sessionInfo = (statementDigest: Uint8Array) =>
  joinBytes([infoLabel, new Uint8Array(statementDigest)])
