/** Merkle tree hashes (RFC 6962, section 2.1) and verification of inclusion proofs. */
import { type Bytes, concatBytes } from '../bytes.ts'
import { sha256 } from '../digest.ts'

/** Distinct first bytes keep a leaf from being mistaken for a node. */
export async function leafHash(entry: Uint8Array): Promise<Bytes> {
  return sha256(concatBytes(Uint8Array.of(0), entry))
}

export async function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Bytes> {
  return sha256(concatBytes(Uint8Array.of(1), left, right))
}

export async function emptyRoot(): Promise<Bytes> {
  return sha256(new Uint8Array())
}

/** Root of a complete subtree: `hashes` are 1, 2, 4, … of the same height, left to right. */
export async function completeRoot(hashes: readonly Bytes[]): Promise<Bytes> {
  let level = hashes
  while (level.length > 1) {
    const pairs: Promise<Bytes>[] = []
    for (let index = 0; index + 1 < level.length; index += 2) {
      pairs.push(nodeHash(level[index] ?? new Uint8Array(), level[index + 1] ?? new Uint8Array()))
    }
    level = await Promise.all(pairs)
  }
  return level[0] ?? emptyRoot()
}

/**
 * Where a tree of `size` leaves is split: the largest power of two below it. Uses arithmetic on
 * purpose: bit operations end at 32 bits, and logarithms round.
 */
export function splitPoint(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

/** The root that `proof` (leaf's sibling first) leads to; undefined if its length is wrong. */
export async function rootFromInclusion(
  leaf: Bytes,
  index: number,
  size: number,
  proof: readonly Bytes[],
): Promise<Bytes | undefined> {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return undefined
  if (size === 1) return proof.length === 0 ? leaf : undefined
  const sibling = proof.at(-1)
  if (sibling === undefined) return undefined
  const split = splitPoint(size)
  const inLeft = index < split
  const below = proof.slice(0, -1)
  const child = inLeft
    ? await rootFromInclusion(leaf, index, split, below)
    : await rootFromInclusion(leaf, index - split, size - split, below)
  if (child === undefined) return undefined
  return inLeft ? nodeHash(child, sibling) : nodeHash(sibling, child)
}
