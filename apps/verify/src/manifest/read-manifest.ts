/** Reads a manifest file for a subcommand, and the file names on its command line. */
import { readFile } from 'node:fs/promises'
import { AttestationError, type Manifest, parseManifest } from '@privatemode/attestation'
import { UsageError } from '../command.ts'

/** The names before the first option; there must be as many as `names`. */
export function takeFiles(
  args: readonly string[],
  ...names: readonly string[]
): { readonly files: readonly string[]; readonly rest: readonly string[] } {
  const end = args.findIndex((argument) => argument.startsWith('--'))
  const files = end === -1 ? args : args.slice(0, end)
  if (files.length !== names.length) {
    throw new UsageError(`expected ${names.join(' ')}, got ${files.length} file names`)
  }
  return { files, rest: args.slice(files.length) }
}

export async function readBytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await readFile(path))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unreadable'
    throw new UsageError(`${path}: ${reason}`, { cause })
  }
}

/** Errors start with the file's name, so that it is clear which of two is wrong. */
export async function readManifest(path: string): Promise<Manifest> {
  const bytes = await readBytes(path)
  return parseManifest(bytes).catch((cause) => {
    if (!(cause instanceof AttestationError)) throw cause
    throw new AttestationError(cause.code, `${path}: ${cause.message}`, { cause })
  })
}
