/** What a file may contain. Names say what it looks like; only verification decides what it is. */
import type { TdxCollateral } from '@privatemode/attestation'

export type Bytes = Uint8Array<ArrayBuffer>

/** A document signed by Intel: the exact text, and what came with it. */
export type SignedDocument = {
  readonly text: string
  readonly signature: string
  /** PEM; absent if the file has none. */
  readonly issuerChain?: string
}

export type Piece =
  | { readonly kind: 'snp-report'; readonly bytes: Bytes }
  | { readonly kind: 'tdx-quote'; readonly bytes: Bytes }
  | { readonly kind: 'nvidia-report'; readonly bytes: Bytes }
  | { readonly kind: 'certificate'; readonly bytes: Bytes }
  | { readonly kind: 'crl'; readonly bytes: Bytes }
  | { readonly kind: 'ocsp'; readonly bytes: Bytes }
  | { readonly kind: 'rim'; readonly bytes: Bytes }
  | { readonly kind: 'tcb-info'; readonly document: SignedDocument }
  | { readonly kind: 'qe-identity'; readonly document: SignedDocument }
  /** Collateral with named fields, as written by verification libraries. */
  | { readonly kind: 'tdx-collateral'; readonly fields: Partial<TdxCollateral> }
  /** A nonce stored next to a report, in hex. */
  | { readonly kind: 'nonce'; readonly hex: string }
  /** Bytes that match none of the above. */
  | { readonly kind: 'unknown'; readonly bytes: Bytes }

export type Kind = Piece['kind']

type BytesKind = Extract<Piece, { bytes: Bytes }>['kind']

/** The bytes of all pieces of one kind, each once. */
export function bytesOf(pieces: readonly Piece[], kind: BytesKind): Bytes[] {
  const found = new Map<string, Bytes>()
  for (const piece of pieces) {
    if (piece.kind === kind) found.set(Buffer.from(piece.bytes).toString('base64'), piece.bytes)
  }
  return [...found.values()]
}
