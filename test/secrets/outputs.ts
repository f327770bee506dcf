/** Everything that programs leave behind: what they print, write, store and display. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { findSecrets } from '../blindness/find-secret.ts'

export type Output = { readonly place: string; readonly bytes: Buffer }

export type Leak = { readonly place: string; readonly secret: string; readonly encoding: string }

/** Every file below a folder, except those whose path begins with one of `except`. */
export function filesBelow(folder: string, except: readonly string[] = []): Output[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => !except.some((start) => relative(folder, path).startsWith(start)))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .map((path) => ({ place: relative(folder, path), bytes: readFileSync(path) }))
}

export function findLeaks(outputs: readonly Output[], secrets: readonly string[]): Leak[] {
  return outputs.flatMap(({ place, bytes }) =>
    findSecrets(bytes, secrets).map(({ secret, encoding }) => ({ place, secret, encoding })),
  )
}
