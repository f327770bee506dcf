/** Which packages of the lock file a program needs at run time, resolved as Node does. */
import type { Lock, LockEntry } from './locked-package.ts'

/** Paths in the lock file (`node_modules/pg`, `packages/service`), sorted; the program's own folder included. */
export function dependencyClosure(
  lock: Lock,
  folder: string,
  leaveOut: readonly string[] = [],
): string[] {
  const found = new Set<string>()
  const visit = (path: string) => {
    if (found.has(path)) return
    found.add(path)
    const entry = lock.packages[path]
    if (entry === undefined) throw new Error(`package-lock.json has no ${path}`)
    for (const name of Object.keys(entry.dependencies ?? {})) {
      if (!leaveOut.includes(name)) visit(resolve(lock, path, name))
    }
  }
  visit(folder)
  return [...found].sort()
}

function resolve(lock: Lock, from: string, name: string): string {
  for (let folder = from; ; folder = parentOf(folder)) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    const entry: LockEntry | undefined = lock.packages[path]
    if (entry !== undefined) return entry.link === true ? (entry.resolved ?? '') : path
    if (folder === '') throw new Error(`package-lock.json has no ${name}, which ${from} needs`)
  }
}

function parentOf(folder: string): string {
  const at = folder.lastIndexOf('/')
  return at < 0 ? '' : folder.slice(0, at)
}

/** `node_modules/a/node_modules/@b/c` is the package `@b/c`. */
export function packageName(lockPath: string): string {
  return lockPath.slice(lockPath.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
