import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchPackage } from './debian-root.ts'
import { run } from './locked-package.ts'

const changed = ['XDG_CACHE_HOME', 'PRIVATEMODE_DEBIAN_MIRROR'] as const
const before = changed.map((name) => [name, process.env[name]] as const)
const folders: string[] = []
afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test('a Debian package in the cache that was changed is fetched again', async () => {
  const bytes = new TextEncoder().encode('a package')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  let fetched = 0
  using mirror = Bun.serve({
    port: 0,
    fetch: () => {
      fetched++
      return new Response(bytes)
    },
  })
  process.env.XDG_CACHE_HOME = newFolder()
  process.env.PRIVATEMODE_DEBIAN_MIRROR = mirror.url.origin
  const entry = { name: 'a', version: '1', path: 'pool/a_1.deb', sha256 }
  const path = await fetchPackage(entry, 'http://unused.example')
  await fetchPackage(entry, 'http://unused.example')
  expect(fetched).toBe(1)
  writeFileSync(path, 'another package')
  expect(readFileSync(await fetchPackage(entry, 'http://unused.example'), 'utf8')).toBe('a package')
  expect(fetched).toBe(2)
})

test('an npm package in the cache that was changed is fetched again, and refused from a registry', () => {
  const { cache, read, publish, unpackedFolders } = fakeRegistry()
  const integrity = publish('export const good = 1')
  expect(read(integrity)).toEqual({ ok: true, text: 'export const good = 1' })
  const digest = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
  const archive = `left-1.0.0-${digest.slice(0, 12)}.tgz`
  // Unpacked files do not outlive the build, so that the next one cannot use them.
  expect(readdirSync(cache)).toEqual([archive])
  expect(unpackedFolders()).toEqual([])

  writeFileSync(join(cache, archive), 'changed')
  expect(read(integrity)).toEqual({ ok: true, text: 'export const good = 1' })

  publish('export const evil = 1')
  expect(read(integrity)).toEqual({ ok: true, text: 'export const good = 1' })
  writeFileSync(join(cache, archive), 'changed')
  const refused = read(integrity)
  expect(refused.ok).toBe(false)
  expect(refused.text).toContain(`package-lock.json has ${integrity}`)
})

/** A fake `npm pack` that gives what was published last, and a program that reads the file of a locked package. */
function fakeRegistry() {
  const folder = newFolder()
  const [bin, temporary] = [join(folder, 'bin'), join(folder, 'tmp')]
  for (const each of [bin, temporary, join(folder, 'package')]) mkdirSync(each)
  const archive = join(folder, 'left-1.0.0.tgz')
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\nfor last; do :; done\ncp '${archive}' "$last"\n`)
  chmodSync(join(bin, 'npm'), 0o755)
  const program = `
    import { readFileSync } from 'node:fs'
    import { lockedFolder } from ${JSON.stringify(join(import.meta.dir, 'locked-package.ts'))}
    const entry = { version: '1.0.0', integrity: process.argv.at(-1) }
    const lock = { packages: { 'node_modules/left': entry } }
    console.write(readFileSync(lockedFolder('left', lock) + '/index.js', 'utf8'))`
  return {
    cache: join(folder, 'privatemode', 'tools'),
    unpackedFolders: () => readdirSync(temporary),
    publish(source: string): string {
      writeFileSync(join(folder, 'package', 'index.js'), source)
      run(['tar', '-czf', archive, '-C', folder, 'package'])
      return `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
    },
    read(integrity: string): { ok: boolean; text: string } {
      const { exitCode, stdout, stderr } = Bun.spawnSync(
        [process.execPath, '-e', program, integrity],
        {
          env: {
            ...process.env,
            PATH: `${bin}:${process.env.PATH}`,
            XDG_CACHE_HOME: folder,
            TMPDIR: temporary,
          },
        },
      )
      const ok = exitCode === 0
      return { ok, text: (ok ? stdout : stderr).toString() }
    },
  }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-cached-'))
  folders.push(folder)
  return folder
}
