/** Two checkouts of one commit, in two folders, produce images and binaries with the same digest. */
import { expect } from 'bun:test'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { archivePath, imageDigest } from './unpacked-image.ts'

const changed = run(['git', 'status', '--porcelain'], { cwd: repository }).trim() !== ''
const unclean = changed ? 'the working tree differs from its commit' : undefined

const names = [
  'privatemode-proxy',
  'privatemode-gateway',
  'privatemode-worker',
  'privatemode-verify',
]
// An archive with a signature in it is another file each time: ECDSA draws a random number.
const isSigned = existsSync(join(repository, 'dist', 'images', 'privatemode-proxy.sig'))
const what = isSigned ? 'have the same digests' : 'are the same files'

unlessMissing(unclean).test(`images built from another checkout ${what}`, () => {
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
    const env = { ...process.env, PRIVATEMODE_SIGNING_KEY: undefined }
    run([process.execPath, join('scripts', 'build-images.ts')], { cwd: copy, env })
    const tell = isSigned ? imageDigest : hashOf
    for (const name of names) {
      const again = join(copy, 'dist', 'images', archivePath(name).split('/').at(-1) ?? '')
      expect(`${name} ${tell(again)}`).toBe(`${name} ${tell(archivePath(name))}`)
    }
    expect(readdirSync(join(copy, 'dist', 'images')).length).toBeGreaterThan(names.length)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
