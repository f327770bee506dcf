import { beforeAll, expect, test } from 'bun:test'
import { rejection, thrown } from '../../../../test/rejection.ts'
import vectors from '../../../../test/vectors/tlog.json'
import { formatHex, parseHex, utf8 } from '../bytes.ts'
import { entries, MemoryLog } from '../testing/memory-log.ts'
import { AttestationError } from '../verdict.ts'
import { openCheckpoint } from './checkpoint.ts'
import { leafHash, rootFromInclusion } from './merkle.ts'
import { parseNoteSigner } from './note-signer.ts'
import { parseVerifierKey } from './signed-note.ts'
import { bundlePath, tilePath } from './tile.ts'
import { TileTree } from './tile-tree.ts'

const log = new MemoryLog()
const sizes = Object.keys(vectors.roots).map(Number)
const root = (size: number) => vectors.roots[`${size}` as keyof typeof vectors.roots]

beforeAll(async () => {
  await log.publish(await parseNoteSigner(vectors.signing_key), ...entries(600))
})

test('our tiles hash to the roots that another implementation computed', async () => {
  for (const size of sizes) {
    expect(formatHex(await new TileTree(log.read, size).root())).toBe(root(size))
  }
})

test('our checkpoint equals the one that another implementation signed, with a date added', async () => {
  const lines = new TextDecoder().decode(log.files.get('checkpoint')).split('\n')
  expect(lines.toSpliced(-2, 1).join('\n')).toBe(vectors.checkpoint)
  const key = await parseVerifierKey(vectors.verifier_key)
  const opened = await openCheckpoint(utf8(vectors.checkpoint), key, { witnesses: [], quorum: 0 })
  expect(opened.size).toBe(600)
})

test('our inclusion proofs equal those of another implementation, and they verify', async () => {
  for (const { size, index, proof } of vectors.inclusion) {
    const ours = await new TileTree(log.read, size).inclusionProof(index)
    expect(ours.map(formatHex)).toEqual(proof)
    const hashes = proof.map((hash) => parseHex(hash)!)
    const leaf = await leafHash(utf8(`entry ${index}`))
    expect(formatHex((await rootFromInclusion(leaf, index, size, hashes))!)).toBe(root(size))
  }
})

test('an inclusion proof of another index, size, length or leaf leads elsewhere', async () => {
  const { size, index, proof } = vectors.inclusion.at(-1)!
  const hashes = proof.map((hash) => parseHex(hash)!)
  const leaf = await leafHash(utf8(`entry ${index}`))
  const lead = async (...args: Parameters<typeof rootFromInclusion>) =>
    formatHex((await rootFromInclusion(...args)) ?? new Uint8Array())
  expect(await lead(leaf, index, size, hashes)).toBe(root(600))
  expect(await lead(leaf, index - 1, size, hashes)).not.toBe(root(600))
  expect(await lead(leaf, index, size + 1, hashes)).not.toBe(root(600))
  expect(await lead(leaf, index, size, hashes.slice(1))).not.toBe(root(600))
  expect(await lead(leaf, index, size, [...hashes, leaf])).not.toBe(root(600))
  expect(await lead(hashes[0]!, index, size, hashes)).not.toBe(root(600))
  expect(await rootFromInclusion(leaf, size, size, hashes)).toBeUndefined()
  expect(await rootFromInclusion(leaf, -1, size, hashes)).toBeUndefined()
})

test('the roots of all earlier sizes can be computed from the latest tiles', async () => {
  const tree = new TileTree(log.read, 600)
  for (const size of sizes) {
    const { older, newer } = await tree.rootsSince(size)
    expect([formatHex(older), formatHex(newer)]).toEqual([root(size), root(600)])
  }
})

test('a refusal by the reader keeps its code; every other failure is log_unreachable', async () => {
  const failing = (error: Error) => new TileTree(() => Promise.reject(error), 600).root()
  const refusal = new AttestationError('log_malformed', 'the answer is too long')
  expect(await rejection(failing(refusal))).toBe(refusal)
  expect(await rejection(failing(new Error('gone')))).toMatchObject({ code: 'log_unreachable' })
})

test('tile paths follow the specification', () => {
  for (const { level, index, width, path } of vectors.tile_paths) {
    expect(tilePath(level, index, width)).toBe(path)
  }
  expect(bundlePath(1234067, 3)).toBe('tile/entries/x001/x234/067.p/3')
  // The specification's example: a tree of 70,000.
  expect([...log.files.keys()]).toContain('tile/1/000.p/2')
})

test('entries are read back, even if only the full bundle is left', async () => {
  const pruned = log.copy()
  for (const path of pruned.files.keys()) {
    if (/^tile\/(entries|0)\/000\.p/.test(path)) pruned.files.delete(path)
  }
  const tree = new TileTree(pruned.read, 100)
  expect(new TextDecoder().decode(await tree.entry(99))).toBe('entry 99')
  expect(formatHex(await new TileTree(pruned.read, 255).root())).toBe(root(255))
})

test('a failed read and a missing file are reported as unreachable', async () => {
  const broken = new TileTree(() => Promise.reject(new Error('no network')), 5)
  expect(await thrown(broken.root())).toThrow('log file tile/0/000.p/5 could not be read')
  const empty = new TileTree(async () => undefined, 5)
  expect(await rejection(empty.root())).toMatchObject({ code: 'log_unreachable' })
})

test('a file longer than requested is refused, whatever the reader', async () => {
  const endless = new TileTree(async () => new Uint8Array(32 * 256 + 1), 5)
  expect(await thrown(endless.root())).toThrow('is over 8192 bytes')
})

test('a tile or bundle of the wrong length is refused', async () => {
  for (const path of ['tile/0/002.p/88', 'tile/entries/002.p/88']) {
    const cut = log.copy()
    cut.files.set(path, cut.files.get(path)!.subarray(1))
    const tree = new TileTree(cut.read, 600)
    const read = path.includes('entries') ? tree.entry(599) : tree.root()
    expect(await rejection(read)).toMatchObject({ code: 'log_malformed' })
  }
})
