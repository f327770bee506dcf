/** Images out of programs of this machine, for tests: a program, the libraries that it loads, and further files. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { userId } from '../../scripts/deploy/debian-root.ts'
import { run } from '../../scripts/deploy/locked-package.ts'
import { makeImage, makeIndex } from '../../scripts/deploy/oci/image.ts'
import { writeArchive } from '../../scripts/deploy/oci/layout.ts'
import type { TarEntry } from '../../scripts/deploy/oci/tar.ts'

export type TestImage = { readonly name: string; readonly tag: string; readonly path: string }

export type ImageFiles = {
  readonly entries: readonly TarEntry[]
  readonly entrypoint: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Writes the archive into a folder. */
export function packImage(
  folder: string,
  name: string,
  tag: string,
  content: ImageFiles,
): TestImage {
  const image = makeImage(
    {
      architecture: 'amd64',
      layers: [[...content.entries, { kind: 'folder', path: 'tmp', mode: 0o1777 }]],
      entrypoint: content.entrypoint,
      env: { PATH: '/usr/bin', ...content.env },
      workingDir: '/',
      user: `${userId}:${userId}`,
      labels: {},
    },
    0,
  )
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${name}.oci.tar`)
  writeArchive(path, [{ image: makeIndex([image], {}), name: { repository: name, tag } }], 0)
  return { name, tag, path }
}

export const isThere = (path: string) => statSync(path, { throwIfNoEntry: false }) !== undefined

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
}

/** What the loader says that programs need, where it finds it here. */
export function librariesOf(programs: readonly string[]): TarEntry[] {
  const said = run(['ldd', ...programs])
  const paths = new Set([...said.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path ?? ''))
  return [...paths].map((path) => file(path.slice(1), path))
}

export function file(path: string, from: string): TarEntry {
  const mode = statSync(from).mode & 0o111 ? 0o755 : 0o644
  return { kind: 'file', path, mode, content: new Uint8Array(readFileSync(from)) }
}

export function text(path: string, content: string): TarEntry {
  return { kind: 'file', path, mode: 0o644, content: new TextEncoder().encode(content) }
}

export const link = (path: string, to: string): TarEntry => ({
  kind: 'link',
  path,
  mode: 0o777,
  to,
})
