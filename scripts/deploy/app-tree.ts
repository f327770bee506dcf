/** The files of a program that runs from its sources: tracked sources, and packages as the lock file pins them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { dependencyClosure, packageName } from './dependency-closure.ts'
import { type Lock, lockedFolder, readLock, repository } from './locked-package.ts'
import type { TarEntry } from './oci/tar.ts'
import { trackedFiles } from './tracked-files.ts'

export type AppTree = {
  readonly folder: string
  /** Packages that this program declares or links to, but does not load in this form. */
  readonly leaveOut: readonly string[]
  /** Our own folders that it must not contain. */
  readonly leaveOutFolders: readonly string[]
  /** The folder whose pages it serves, built for browsers; their sources are not included. */
  readonly pagesFolder?: string
}

export function closureOf(tree: AppTree, lock: Lock = readLock()): string[] {
  return dependencyClosure(lock, tree.folder, tree.leaveOut)
}

/** Everything under `app/`, as the layer of an image. */
export function appTreeEntries(tree: AppTree): TarEntry[] {
  const lock = readLock()
  const closure = closureOf(tree, lock)
  const ours = closure.filter((path) => !path.startsWith('node_modules/'))
  const others = closure.filter((path) => path.startsWith('node_modules/'))
  return [
    fileEntry('app/package-lock.json', join(repository, 'package-lock.json')),
    ...ours.flatMap((folder) => sourceEntries(folder, tree.leaveOutFolders)),
    ...ours.map((folder): TarEntry => {
      const name = nameInPackage(folder)
      return { kind: 'link', path: `app/node_modules/${name}`, mode: 0o777, to: `../../${folder}` }
    }),
    ...others.flatMap((path) =>
      folderEntries(`app/${path}`, lockedFolder(packageName(path), lock, path)),
    ),
  ]
}

/** Excludes tests, but keeps their helpers, since the worker measures those as part of its sources. */
function sourceEntries(folder: string, leaveOutFolders: readonly string[]): TarEntry[] {
  return trackedFiles([`${folder}/src`, `${folder}/package.json`])
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => !leaveOutFolders.some((folder) => path.startsWith(`${folder}/`)))
    .map((path) => fileEntry(`app/${path}`, join(repository, path)))
}

function nameInPackage(folder: string): string {
  const text = readFileSync(join(repository, folder, 'package.json'), 'utf8')
  return (JSON.parse(text) as { name: string }).name
}

function folderEntries(target: string, folder: string): TarEntry[] {
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      // Maps, types and original sources are only needed by people who build with a package.
      .filter((name) => !/\.(map|[cm]?ts)$/.test(name))
      .map((name) => fileEntry(`${target}/${name}`, join(folder, name)))
  )
}

function fileEntry(path: string, from: string): TarEntry {
  return { kind: 'file', path, mode: 0o644, content: new Uint8Array(readFileSync(from)) }
}
