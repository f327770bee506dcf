/** Appends a dm-verity hash tree to a volume (Linux, Documentation/admin-guide/device-mapper/verity.rst, version 1). */
import { appendFileSync, closeSync, openSync, readSync, statSync } from 'node:fs'
import { veritySalt } from '@privatemode/machine'
import { blockBytes } from './erofs.ts'

const digestBytes = 32
const digestsPerBlock = blockBytes / digestBytes

export type Verity = {
  /** Hex: what the kernel checks every block against. */
  readonly root: string
  /** Of data; the tree follows. */
  readonly blocks: number
}

export function appendVerity(path: string, label: string): Verity {
  const size = statSync(path).size
  if (size === 0 || size % blockBytes !== 0) throw new Error(`${path} is not whole blocks`)
  const salt = veritySalt(label)
  const levels = [hashFile(path, salt)]
  for (let level = levels[0]; level !== undefined && level.length > blockBytes; ) {
    level = hashBlocks(level, salt)
    levels.push(level)
  }
  const top = levels.at(-1) ?? new Uint8Array(0)
  for (const level of levels.reverse()) appendFileSync(path, level) // the top comes first
  return { root: Buffer.from(hashBlock(top, salt)).toString('hex'), blocks: size / blockBytes }
}

/** The lowest level, read in pieces: a volume of weights is larger than memory. */
function hashFile(path: string, salt: Uint8Array): Uint8Array {
  const blocks = statSync(path).size / blockBytes
  const level = new Uint8Array(Math.ceil(blocks / digestsPerBlock) * blockBytes)
  const file = openSync(path, 'r')
  try {
    const piece = new Uint8Array(1024 * blockBytes)
    for (let block = 0; block < blocks; ) {
      const read = readSync(file, piece, 0, piece.length, block * blockBytes)
      if (read === 0 || read % blockBytes !== 0) throw new Error(`${path} cannot be read whole`)
      for (let at = 0; at < read; at += blockBytes) {
        level.set(hashBlock(piece.subarray(at, at + blockBytes), salt), block * digestBytes)
        block++
      }
    }
  } finally {
    closeSync(file)
  }
  return level
}

function hashBlocks(below: Uint8Array, salt: Uint8Array): Uint8Array {
  const blocks = below.length / blockBytes
  const level = new Uint8Array(Math.ceil(blocks / digestsPerBlock) * blockBytes)
  for (let block = 0; block < blocks; block++) {
    const bytes = below.subarray(block * blockBytes, (block + 1) * blockBytes)
    level.set(hashBlock(bytes, salt), block * digestBytes)
  }
  return level
}

function hashBlock(block: Uint8Array, salt: Uint8Array): Uint8Array {
  return new Bun.CryptoHasher('sha256').update(salt).update(block).digest()
}
