/** A model server's image becomes a volume: layers, whiteouts, links, and what is refused. */
import { afterAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { thrown } from '../../test/rejection.ts'
import { type TarEntry, writeTar } from '../deploy/oci/tar.ts'
import { applyLayers } from './oci-tree.ts'
import { buildServer } from './server.ts'
import { listTar } from './tar-list.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-server-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (path: string, content: string, mode = 0o644): TarEntry => ({
  ...{ kind: 'file', path, mode },
  content: Buffer.from(content),
})
const link = (path: string, to: string): TarEntry => ({ kind: 'link', path, mode: 0o777, to })

let layers = 0
function layer(...entries: TarEntry[]) {
  return layerOf(Buffer.from(writeTar(entries, 0)))
}

function layerOf(bytes: Buffer) {
  const from = join(folder, `layer-${layers++}.tar`)
  writeFileSync(from, bytes)
  const read = (at: number, length: number) => bytes.subarray(at, at + length)
  return { from, start: 0, end: bytes.length, read }
}

/** A layer written by tar itself, as a shell script's out.tar. */
function made(...script: string[]) {
  const work = mkdtempSync(join(folder, 'tar-'))
  for (const one of script) expect(Bun.spawnSync(['sh', '-c', one], { cwd: work }).exitCode).toBe(0)
  return layerOf(readFileSync(join(work, 'out.tar')))
}

/** Paths with their content or target. */
function contents(...all: ReturnType<typeof layer>[]): Record<string, string> {
  const entries = applyLayers(all).filter(({ kind }) => kind !== 'folder')
  return Object.fromEntries(
    entries.map((entry) => {
      if (entry.kind === 'link') return [entry.path, `-> ${entry.to}`]
      if (entry.kind !== 'file' || !('from' in entry)) return [entry.path, '']
      const { from, at = 0, size = 0 } = entry
      return [
        entry.path,
        readFileSync(from)
          .subarray(at, at + size)
          .toString(),
      ]
    }),
  )
}

test('a later layer replaces, adds and hides files of earlier ones', () => {
  const base = layer(file('a/one', '1'), file('a/two', '2'), file('b/c/three', '3'), file('d', '4'))
  expect(contents(base, layer(file('a/one', 'new'), file('a/.wh.two', '')))).toEqual({
    'a/one': 'new',
    'b/c/three': '3',
    d: '4',
  })
  expect(contents(base, layer(file('b/.wh..wh..opq', ''), file('b/c/new', '5')))).toMatchObject({
    'b/c/new': '5',
  })
  expect(Object.keys(contents(base, layer(file('b/.wh..wh..opq', ''))))).not.toContain('b/c/three')
  expect(contents(base, layer(file('.wh.b', '')))).toEqual({ 'a/one': '1', 'a/two': '2', d: '4' })
  // A file in place of a folder, and the reverse.
  expect(contents(base, layer(file('b', 'file')))).not.toHaveProperty('b/c/three')
  expect(contents(base, layer(file('d/inside', '6')))).toMatchObject({ 'd/inside': '6' })
})

test('files are placed through the links of earlier layers', () => {
  const base = layer(link('lib', 'usr/lib'), link('x', '/lib/deep/..'), file('usr/lib/a', 'a'))
  const write = 'mkdir lib x && printf b > lib/b && printf c > x/c'
  const files = made(`${write} && tar -cf out.tar lib/b x/c`)
  expect(contents(base, files)).toMatchObject({
    ...{ 'usr/lib/a': 'a', 'usr/lib/b': 'b', 'usr/lib/c': 'c' },
    lib: '-> usr/lib',
  })
  // A folder takes the place of a link.
  expect(contents(base, made(`${write} && tar -cf out.tar lib`))).toMatchObject({ 'lib/b': 'b' })
  const loop = layer(link('one', 'two'), link('two', 'one'))
  const inLoop = made('mkdir one && touch one/x && tar -cf out.tar one/x')
  expect(() => applyLayers([loop, inLoop])).toThrow('too many links')
})

test('hard links, long names and programs are kept; devices and paths that leave the root are not', () => {
  const long = `${'long-folder-name/'.repeat(12)}file`
  for (const format of ['gnu', 'posix']) {
    const entries = applyLayers([
      made(
        `mkdir -p root/${dirname(long)} && echo text > root/${long} && chmod 4711 root/${long}`,
        `ln root/${long} root/hard && ln -s ${long} root/soft`,
        `tar --format=${format} -C root --sort=name -cf out.tar .`,
      ),
    ])
    const byPath = new Map(entries.map((entry) => [entry.path, entry]))
    expect(byPath.get(long)).toMatchObject({ kind: 'file', mode: 0o555 })
    const { path: _, ...target } = byPath.get('hard') ?? { path: '' }
    expect(byPath.get(long)).toMatchObject(target)
    expect(byPath.get('soft')).toMatchObject({ kind: 'link', to: long })
  }
  expect(() => applyLayers([made('mkfifo pipe && tar -cf out.tar pipe')])).toThrow('special file')
  expect(() => applyLayers([layer(file('../outside', ''))])).toThrow('outside of its root')
  expect(() => applyLayers([layer(file('a/../../outside', ''))])).toThrow('outside of its root')
})

test('a damaged archive is refused', () => {
  const bytes = Buffer.from(writeTar([file('a', 'x'.repeat(2000))], 0))
  const list = (changed: Buffer) => [
    ...listTar((at, length) => changed.subarray(at, at + length), 0, changed.length),
  ]
  expect(list(bytes).length).toBe(1)
  expect(() => list(bytes.subarray(0, 1024))).toThrow('cut off')
  const flipped = Buffer.from(bytes)
  flipped[3] = 0x41
  expect(() => list(flipped)).toThrow('damaged header')
})

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Writes a layout with one image of three layers, each compressed differently; returns its folder. */
function layout(change: (blobs: Map<string, Uint8Array>) => void = () => {}): string {
  const out = mkdtempSync(join(folder, 'layout-'))
  const blobs = new Map<string, Uint8Array>()
  const put = (bytes: Uint8Array, more: object = {}) => {
    const digest = `sha256:${sha256(bytes)}`
    blobs.set(digest, bytes)
    return { digest, size: bytes.length, ...more }
  }
  const json = (value: object) => Buffer.from(JSON.stringify(value))
  const type = (kind: string) => ({ mediaType: `application/vnd.oci.image.layer.v1.${kind}` })
  const config = {
    config: {
      Entrypoint: ['/bin/server'],
      Cmd: ['--fast'],
      Env: ['PATH=/bin'],
      WorkingDir: '/srv',
    },
  }
  const manifest = put(
    json({
      config: put(json(config)),
      layers: [
        put(writeTar([file('bin/server', 'program', 0o755)], 0), type('tar')),
        put(gzipSync(writeTar([file('etc/a', 'a')], 0)), type('tar+gzip')),
        put(zstdCompressSync(writeTar([file('etc/b', 'b')], 0)), type('tar+zstd')),
      ],
    }),
    { platform: { os: 'linux', architecture: 'amd64' } },
  )
  const other = { ...manifest, platform: { os: 'linux', architecture: 'arm64' } }
  const index = put(json({ manifests: [manifest, other] }))
  change(blobs)
  mkdirSync(join(out, 'blobs/sha256'), { recursive: true })
  writeFileSync(join(out, 'index.json'), json({ manifests: [index] }))
  for (const [digest, bytes] of blobs)
    writeFileSync(join(out, 'blobs', digest.replace(':', '/')), bytes)
  return out
}

test('an image has one volume, from a folder or an archive, and says how to start it', async () => {
  const from = layout()
  const server = await buildServer({ layout: from, out: join(folder, 'server.img') })
  expect(server).toMatchObject({
    image: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    volume: { label: 'server' },
    command: ['/bin/server', '--fast'],
    environment: ['PATH=/bin'],
    directory: '/srv',
  })
  const archive = join(folder, 'layout.tar')
  expect(Bun.spawnSync(['tar', '-C', from, '-cf', archive, '.']).exitCode).toBe(0)
  expect(await buildServer({ layout: archive, out: join(folder, 'other.img') })).toEqual(server)
  const image = readFileSync(join(folder, 'server.img')).toString('latin1')
  for (const name of ['weights', 'proc', 'server']) expect(image).toContain(name)
})

test('a blob that differs from its digest is refused, whichever it is', async () => {
  for (let index = 0; index < 6; index++) {
    const from = layout((blobs) => {
      const [digest = '', bytes = new Uint8Array()] = [...blobs][index] ?? []
      const changed = Uint8Array.from(bytes)
      const at = Math.floor(changed.length / 2)
      changed[at] = (changed[at] ?? 0) ^ 1
      blobs.set(digest, changed)
    })
    expect(await thrown(buildServer({ layout: from, out: join(folder, 'x.img') }))).toThrow()
  }
})
