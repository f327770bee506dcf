/** Writes a read-only file system (EROFS, without compression) whose bytes depend only on its entries. */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, statSync, writeSync } from 'node:fs'
import { volumePurpose } from '@privatemode/machine'
import { withFolders } from '../deploy/oci/tar.ts'

/** A file's content, or a file or a part of one that has it: weights are larger than memory. */
export type ErofsEntry = { readonly path: string; readonly mode: number } & (
  | { readonly kind: 'file'; readonly content: Uint8Array }
  | { readonly kind: 'file'; readonly from: string; readonly at?: number; readonly size?: number }
  | { readonly kind: 'folder' }
  | { readonly kind: 'link'; readonly to: string }
)

export const blockBytes = 4096
const inodeSlotBytes = 32
const inodeBytes = 64
const direntBytes = 12
const superblockAt = 1024

type Node = {
  readonly entry: ErofsEntry
  readonly number: number
  readonly parent: number
  readonly size: number
  /** Where its data starts, in blocks. */
  block: number
  readonly children: Map<string, Node>
}

/** Returns the number of blocks. `label` names the volume; its identifier is derived from it. */
export async function writeErofs(
  path: string,
  label: string,
  entries: readonly ErofsEntry[],
): Promise<number> {
  const nodes = buildTree(entries)
  const inodesAt = blockBytes // the first block has the superblock
  let block = (inodesAt + roundUp(nodes.length * inodeBytes)) / blockBytes
  for (const node of nodes) {
    node.block = block
    block += roundUp(dataSize(node)) / blockBytes
  }
  const file = openSync(path, 'w', 0o644)
  try {
    const writer = new Writer(file)
    await writer.write(formatSuperblock(volumePurpose(label), nodes.length, block))
    await writer.write(pad(Buffer.concat(nodes.map(formatInode))))
    for (const node of nodes) await writer.writeData(node)
    if (writer.written !== block * blockBytes) throw new Error(`${path}: a file changed its size`)
  } finally {
    closeSync(file)
  }
  return block
}

class Writer {
  readonly #file: number
  written = 0

  constructor(file: number) {
    this.#file = file
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
    this.written += bytes.length
  }

  async writeData(node: Node): Promise<void> {
    const { entry } = node
    if (entry.kind === 'folder') await this.write(formatFolder(node))
    else if (entry.kind === 'link') await this.write(pad(Buffer.from(entry.to)))
    else if ('content' in entry) await this.write(pad(entry.content))
    else {
      const before = this.written
      const { at: start = 0, size } = entry
      const range = size === undefined ? {} : { start, end: start + size - 1 }
      if (node.size > 0) {
        for await (const chunk of createReadStream(entry.from, {
          highWaterMark: 1 << 20,
          ...range,
        }))
          await this.write(chunk as Uint8Array)
      }
      if (this.written - before !== node.size) throw new Error(`${entry.from} changed its size`)
      await this.write(new Uint8Array(roundUp(node.size) - node.size))
    }
  }
}

/** The root first, then everything by path: numbers follow from names. */
function buildTree(entries: readonly ErofsEntry[]): Node[] {
  const root: Node = newNode({ kind: 'folder', path: '', mode: 0o755 }, 0, 0)
  const byPath = new Map([['', root]])
  const nodes = [root]
  for (const entry of withFolders(entries)) {
    const slash = entry.path.lastIndexOf('/')
    const parent = byPath.get(slash < 0 ? '' : entry.path.slice(0, slash))
    if (parent?.entry.kind !== 'folder') throw new Error(`${entry.path} is inside of a file`)
    const node = newNode(entry, nodes.length, parent.number)
    parent.children.set(entry.path.slice(slash + 1), node)
    byPath.set(entry.path, node)
    nodes.push(node)
  }
  return nodes
}

function newNode(entry: ErofsEntry, number: number, parent: number): Node {
  return { entry, number, parent, size: contentSize(entry), block: 0, children: new Map() }
}

function contentSize(entry: ErofsEntry): number {
  if (entry.kind === 'folder') return 0
  if (entry.kind === 'link') return Buffer.byteLength(entry.to)
  if ('content' in entry) return entry.content.length
  return entry.size ?? statSync(entry.from).size
}

const dataSize = (node: Node): number =>
  node.entry.kind === 'folder' ? formatFolder(node).length : node.size

/** struct erofs_super_block. */
function formatSuperblock(label: string, inodes: number, blocks: number): Uint8Array {
  const block = Buffer.alloc(blockBytes)
  const at = superblockAt
  block.writeUInt32LE(0xe0f5e1e2, at)
  block.writeUInt8(12, at + 12) // blocks of 2 to the 12th bytes
  block.writeUInt16LE(0, at + 14) // number of the root
  block.writeBigUInt64LE(BigInt(inodes), at + 16)
  block.writeUInt32LE(blocks, at + 36)
  block.writeUInt32LE(1, at + 40) // inodes start at the second block
  createHash('sha256')
    .update(`privatemode/v1/volume\0${label}`)
    .digest()
    .copy(block, at + 48, 0, 16)
  block.write(label.slice(0, 16), at + 64, 'latin1')
  return block
}

const modes = { file: 0o100000, folder: 0o040000, link: 0o120000 } as const

/** struct erofs_inode_extended, data in whole blocks. */
function formatInode(node: Node): Uint8Array {
  const { entry } = node
  const isFolder = entry.kind === 'folder'
  const folders = [...node.children.values()].filter(({ entry: { kind } }) => kind === 'folder')
  const inode = Buffer.alloc(inodeBytes)
  inode.writeUInt16LE(1, 0)
  inode.writeUInt16LE(modes[entry.kind] | entry.mode, 4)
  inode.writeBigUInt64LE(BigInt(dataSize(node)), 8)
  inode.writeUInt32LE(node.block, 16)
  inode.writeUInt32LE(node.number + 1, 20)
  inode.writeUInt32LE(isFolder ? 2 + folders.length : 1, 44)
  return inode
}

/** Names sorted by their bytes, as many as fit into each block: struct erofs_dirent, then the names. */
function formatFolder(node: Node): Uint8Array {
  const all = [
    { name: Buffer.from('.'), number: node.number, kind: 'folder' as const },
    { name: Buffer.from('..'), number: node.parent, kind: 'folder' as const },
    ...[...node.children].map(([name, child]) => ({
      name: Buffer.from(name),
      number: child.number,
      kind: child.entry.kind,
    })),
  ].sort((a, b) => Buffer.compare(a.name, b.name))
  const blocks: Buffer[] = []
  for (let start = 0; start < all.length; ) {
    let used = 0
    let end = start
    for (; end < all.length; end++) {
      const more = direntBytes + (all[end]?.name.length ?? 0)
      if (used + more > blockBytes) break
      used += more
    }
    blocks.push(formatFolderBlock(all.slice(start, end)))
    start = end
  }
  return Buffer.concat(blocks)
}

const fileTypes = { file: 1, folder: 2, link: 7 } as const

function formatFolderBlock(
  entries: readonly { name: Buffer; number: number; kind: keyof typeof fileTypes }[],
): Buffer {
  const block = Buffer.alloc(blockBytes)
  let nameAt = entries.length * direntBytes
  entries.forEach(({ name, number, kind }, index) => {
    const at = index * direntBytes
    block.writeBigUInt64LE(BigInt((number * inodeBytes) / inodeSlotBytes), at)
    block.writeUInt16LE(nameAt, at + 8)
    block.writeUInt8(fileTypes[kind], at + 10)
    name.copy(block, nameAt)
    nameAt += name.length
  })
  return block
}

const roundUp = (length: number) => Math.ceil(length / blockBytes) * blockBytes

function pad(bytes: Uint8Array): Uint8Array {
  if (bytes.length % blockBytes === 0) return bytes
  const padded = new Uint8Array(roundUp(bytes.length))
  padded.set(bytes)
  return padded
}
