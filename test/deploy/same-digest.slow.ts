/** Two checkouts of one commit, in two folders, give images and binaries of the same digest. */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { archivePath } from './unpacked-image.ts'

const changed = run(['git', 'status', '--porcelain'], { cwd: repository }).trim() !== ''
if (changed) console.warn('reproducibility is not tested: the working tree differs from its commit')

const names = ['privatemode-proxy', 'privatemode-gateway', 'privatemode-worker']

test.skipIf(changed)('images built from another checkout are the same files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-again-'))
  try {
    const copy = join(folder, 'some', 'where', 'else')
    run(['git', 'clone', '--quiet', '--no-hardlinks', repository, copy])
    cpSync(join(repository, 'node_modules'), join(copy, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
      // Bundling reads small packages only; the runtime for other systems comes from the cache.
      filter: (path) =>
        !/node_modules\/(@oven|@node-llama-cpp|node-llama-cpp|@sparticuz)/.test(path),
    })
    run([process.execPath, join('scripts', 'build-images.ts')], { cwd: copy })
    for (const name of names) {
      const again = join(copy, 'dist', 'images', archivePath(name).split('/').at(-1) ?? '')
      expect(`${name} ${hashOf(again)}`).toBe(`${name} ${hashOf(archivePath(name))}`)
    }
    expect(readdirSync(join(copy, 'dist', 'images')).length).toBeGreaterThan(names.length)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
