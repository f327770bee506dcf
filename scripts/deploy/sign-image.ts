/** Signs an image's digest in the format of cosign ("simple signing"), with a key from a PEM file. */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { type Image, makeDocumentImage } from './oci/image.ts'

export type Signature = {
  readonly payload: Uint8Array
  /** ECDSA P-256 in DER over SHA-256, or Ed25519 over the payload itself. */
  readonly signature: Uint8Array
}

export function signDigest(reference: string, digest: string, keyPem: string): Signature {
  const payload = new TextEncoder().encode(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': reference },
        image: { 'docker-manifest-digest': digest },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  )
  return { payload, signature: signBytes(payload, keyPem) }
}

export function signBytes(bytes: Uint8Array, keyPem: string): Uint8Array {
  const key = createPrivateKey(keyPem)
  return new Uint8Array(sign(algorithm(key.asymmetricKeyType), bytes, key))
}

/** What `cosign verify --key` does with the two parts, for tests and for those without cosign. */
export function checkSignature(made: Signature, digest: string, publicPem: string): boolean {
  const key = createPublicKey(publicPem)
  const genuine = verify(algorithm(key.asymmetricKeyType), made.payload, key, made.signature)
  const said = JSON.parse(new TextDecoder().decode(made.payload)) as {
    critical: { image: { 'docker-manifest-digest': string } }
  }
  return genuine && said.critical.image['docker-manifest-digest'] === digest
}

/** Where cosign looks for the signature of an image: next to it, under this tag. */
export const signatureTag = (digest: string): string => `${digest.replace(':', '-')}.sig`

export function signatureImage(made: Signature): Image {
  const signature = Buffer.from(made.signature).toString('base64')
  return makeDocumentImage(made.payload, 'application/vnd.dev.cosign.simplesigning.v1+json', {
    'dev.cosignproject.cosign/signature': signature,
  })
}

function algorithm(kind: string | undefined): 'sha256' | null {
  if (kind === 'ed25519') return null // it hashes by itself
  if (kind === 'ec') return 'sha256'
  throw new Error(`a signing key is of kind ec or ed25519, this one is ${kind}`)
}
