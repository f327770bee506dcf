/** The files of an OCI image: its layers applied in order, without unpacking them and without privileges. */
import { join } from 'node:path/posix'
import type { ErofsEntry } from './erofs.ts'
import { listTar, type ReadAt, type TarItem } from './tar-list.ts'

/** An uncompressed layer: a part of a file. */
export type Layer = {
  readonly from: string
  readonly start: number
  readonly end: number
  readonly read: ReadAt
}

const whiteout = '.wh.'
const opaque = '.wh..wh..opq'
const maxLinks = 40

/**
 * Nothing is written at run time and nothing is secret: everything is readable by everyone, belongs
 * to root and has no set-user-ID bits.
 */
const modes = { program: 0o555, file: 0o444, folder: 0o555, link: 0o777 } as const

export function applyLayers(layers: readonly Layer[]): ErofsEntry[] {
  const tree = new Map<string, ErofsEntry>()
  for (const layer of layers) applyLayer(tree, layer)
  return [...tree.values()]
}

/** Whiteouts hide what lower layers have, never what their own layer adds (OCI image layer, whiteouts). */
function applyLayer(tree: Map<string, ErofsEntry>, layer: Layer): void {
  const items = [...listTar(layer.read, layer.start, layer.end)].filter(({ path }) => path !== '')
  for (const { path } of items) {
    if (path.split('/').some((part) => part === '..' || part === '.'))
      throw new Error(`the image has a file outside of its root: ${path}`)
    const { folder, name } = split(path)
    if (!name.startsWith(whiteout)) continue
    const hidden = resolveFolder(tree, folder)
    if (name === opaque) removeBelow(tree, hidden)
    else remove(tree, join(hidden, name.slice(whiteout.length)))
  }
  for (const item of items) {
    const { folder, name } = split(item.path)
    if (name.startsWith(whiteout)) continue
    const path = join(resolveFolder(tree, folder), name)
    const entry = toEntry(tree, layer, item, path)
    if (entry.kind !== 'folder') remove(tree, path)
    addFolders(tree, split(path).folder)
    tree.set(path, entry)
  }
}

function addFolders(tree: Map<string, ErofsEntry>, path: string): void {
  if (path === '' || tree.get(path)?.kind === 'folder') return
  addFolders(tree, split(path).folder)
  tree.set(path, { kind: 'folder', path, mode: modes.folder })
}

function toEntry(
  tree: ReadonlyMap<string, ErofsEntry>,
  { from }: Layer,
  { kind, mode, at, size, to }: TarItem,
  path: string,
): ErofsEntry {
  switch (kind) {
    case 'file': {
      const isProgram = (mode & 0o111) !== 0
      return { kind, path, mode: isProgram ? modes.program : modes.file, from, at, size }
    }
    case 'folder':
      return { kind, path, mode: modes.folder }
    case 'link':
      return { kind, path, mode: modes.link, to }
    case 'hard link': {
      const { folder, name } = split(to.replace(/^(\.?\/)+/, ''))
      const target = tree.get(join(resolveFolder(tree, folder), name))
      if (target === undefined || target.kind === 'folder')
        throw new Error(`${path} is a hard link to ${to}, which is not a file of the image`)
      return { ...target, path }
    }
    case 'other':
      throw new Error(`${path} is a device or another special file`)
  }
}

/** Layers may name a file through links of lower ones, such as `lib/x` for `usr/lib/x`. */
function resolveFolder(tree: ReadonlyMap<string, ErofsEntry>, folder: string): string {
  let links = 0
  let resolved = ''
  const rest = folder.split('/').filter((part) => part !== '')
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === '.') continue
    const next = part === '..' ? split(resolved).folder : join(resolved, part)
    const entry = tree.get(next)
    if (entry?.kind !== 'link') {
      resolved = next
      continue
    }
    if (++links > maxLinks) throw new Error(`${folder} has too many links`)
    if (entry.to.startsWith('/')) resolved = ''
    rest.unshift(...entry.to.split('/').filter((one) => one !== ''))
  }
  return resolved
}

function split(path: string): { folder: string; name: string } {
  const slash = path.lastIndexOf('/')
  return { folder: slash < 0 ? '' : path.slice(0, slash), name: path.slice(slash + 1) }
}

function remove(tree: Map<string, ErofsEntry>, path: string): void {
  if (tree.get(path)?.kind === 'folder') removeBelow(tree, path)
  tree.delete(path)
}

function removeBelow(tree: Map<string, ErofsEntry>, folder: string): void {
  const prefix = folder === '' ? '' : `${folder}/`
  for (const path of [...tree.keys()]) if (path.startsWith(prefix)) tree.delete(path)
}
