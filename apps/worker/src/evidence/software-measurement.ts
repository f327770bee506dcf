/** The measurement in software evidence: one digest of the code that is running. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..')
const measured = [
  ...['packages/protocol', 'packages/attestation', 'packages/http', 'packages/inference'],
  ...['packages/service', 'apps/worker'],
]

/**
 * SHA-384 over the names and contents of the worker's sources and the lock file that pins the rest.
 */
export function measureSources(): Uint8Array {
  const files = [
    join(repository, 'package-lock.json'),
    ...measured.flatMap((folder) => sourceFiles(join(repository, folder, 'src'))),
  ]
  const hash = createHash('sha384')
  for (const file of files.sort()) {
    const content = createHash('sha384').update(readFileSync(file)).digest('hex')
    hash.update(`${relative(repository, file)} ${content}\n`)
  }
  return new Uint8Array(hash.digest())
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
}
