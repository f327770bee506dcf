/** Model downloads without a network: a stand-in for npm serves small archives created here. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rejection } from '../../../../test/rejection.ts'
import { ensureModel, ensureRecipe, type ModelProgress } from './ensure-model.ts'
import type { NpmCommand } from './fetch-package.ts'
import type { ModelRecipe, SourcePackage } from './model-list.ts'

let folder: string
let cacheDir: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'models-'))
  cacheDir = join(folder, 'cache')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const first = new TextEncoder().encode('first half, ')
const second = new TextEncoder().encode('second half')

test('a model is assembled from its packages and has the pinned hash', async () => {
  const steps: string[] = []
  const onProgress = (progress: ModelProgress): void => {
    if (steps.at(-1) !== progress.step) steps.push(progress.step)
  }
  const model = await ensureRecipe(recipe(), { cacheDir, npm: servingNpm(), onProgress })
  expect(readFileSync(model.path, 'utf8')).toBe('first half, second half')
  expect(model.sha256).toBe(sha256(readFileSync(model.path)))
  expect(steps).toEqual(['download', 'unpack', 'download', 'unpack', 'assemble', 'ready'])
  expect(readdirSync(cacheDir)).toEqual(['stories15m.gguf'])
})

test('a second call uses the cache and needs no npm', async () => {
  const { path } = await ensureRecipe(recipe(), { cacheDir, npm: servingNpm() })
  const again = await ensureRecipe(recipe(), { cacheDir, npm: failingNpm('ECONNREFUSED') })
  expect(again.path).toBe(path)
})

test('a changed file in the cache is refused with the remedy', async () => {
  const { path } = await ensureRecipe(recipe(), { cacheDir, npm: servingNpm() })
  writeFileSync(path, 'first half, second hall')
  const again = ensureRecipe(recipe(), { cacheDir, npm: servingNpm() })
  expect(await rejection(again)).toMatchObject({
    code: 'hash_mismatch',
    message: expect.stringContaining('remove that file'),
  })
})

test('a package file with one changed byte is refused and not kept', async () => {
  const other = Uint8Array.from(second)
  other[0] = (other[0] ?? 0) ^ 1
  const npm = servingNpm({ 'part-2': other })
  const made = ensureRecipe(recipe(), { cacheDir, npm })
  expect(await rejection(made)).toMatchObject({
    code: 'hash_mismatch',
    message: expect.stringContaining("the package's file model.part"),
  })
  expect(readdirSync(cacheDir)).toEqual([`.source-${sha256(first)}`])
})

test('a start after an interruption fetches only the packages that are missing', async () => {
  const broken = servingNpm({ 'part-2': first })
  await ensureRecipe(recipe(), { cacheDir, npm: broken }).catch(() => {})
  const rest = servingNpm({ 'part-1': second })
  const { path } = await ensureRecipe(recipe(), { cacheDir, npm: rest })
  expect(readFileSync(path, 'utf8')).toBe('first half, second half')
  expect(readdirSync(cacheDir)).toEqual(['stories15m.gguf'])
})

test('a kept package that was changed meanwhile is fetched again', async () => {
  await ensureRecipe(recipe(), { cacheDir, npm: servingNpm({ 'part-2': first }) }).catch(() => {})
  writeFileSync(join(cacheDir, `.source-${sha256(first)}`), 'something else')
  const { path } = await ensureRecipe(recipe(), { cacheDir, npm: servingNpm() })
  expect(readFileSync(path, 'utf8')).toBe('first half, second half')
})

test('a package without the wanted file is refused', async () => {
  const wanted = recipe()
  const [one, two] = wanted.packages
  const packages = [one!, { ...two!, files: [{ ...two!.files[0]!, path: 'elsewhere.part' }] }]
  const made = ensureRecipe({ ...wanted, packages }, { cacheDir, npm: servingNpm() })
  expect(await rejection(made)).toMatchObject({ code: 'hash_mismatch' })
})

test('a result whose hash differs from the pinned one is refused', async () => {
  const made = ensureRecipe(
    { ...recipe(), sha256: '00'.repeat(32) },
    { cacheDir, npm: servingNpm() },
  )
  expect(await rejection(made)).toMatchObject({ code: 'hash_mismatch' })
  expect(readdirSync(cacheDir).filter((name) => name.endsWith('.gguf'))).toEqual([])
})

test.each([
  ['ENOTFOUND', 'download_failed', 'registry cannot be reached'],
  ['E404', 'download_failed', 'does not serve it'],
  ['EINTEGRITY', 'hash_mismatch', 'differs from what the registry promised'],
  ['ENOSPC', 'disk_full', 'disk is full'],
])('when npm fails with %s the error is %s and names the remedy', async (npmCode, code, words) => {
  const made = ensureRecipe(recipe(), { cacheDir, npm: failingNpm(npmCode) })
  expect(await rejection(made)).toMatchObject({ code, message: expect.stringContaining(words) })
  expect(readdirSync(cacheDir)).toEqual([])
})

test('without npm the error says what to install', async () => {
  const npm = { command: join(folder, 'no-such-npm'), args: [] }
  expect(await rejection(ensureRecipe(recipe(), { cacheDir, npm }))).toMatchObject({
    code: 'npm_missing',
  })
})

test('too little space is noticed before anything is fetched', async () => {
  const huge = { ...recipe(), bytes: Number.MAX_SAFE_INTEGER }
  const made = ensureRecipe(huge, { cacheDir, npm: failingNpm('must not run') })
  expect(await rejection(made)).toMatchObject({ code: 'disk_full' })
})

test('a cache path that is a file is refused with a clear message', async () => {
  writeFileSync(cacheDir, '')
  expect(await rejection(ensureRecipe(recipe(), { cacheDir, npm: servingNpm() }))).toMatchObject({
    code: 'cache_unusable',
  })
})

test('an abort stops npm and leaves nothing behind', async () => {
  const stop = new AbortController()
  const npm = npmScript('setInterval(() => {}, 1000)')
  const onProgress = (): void => void setTimeout(() => stop.abort(), 20)
  const made = ensureRecipe(recipe(), { cacheDir, npm, signal: stop.signal, onProgress })
  expect(await rejection(made)).toMatchObject({ code: 'aborted' })
  expect(readdirSync(cacheDir)).toEqual([])
})

test('what a killed start left behind is removed by the next one', async () => {
  mkdirSync(join(cacheDir, `.partial-${process.pid}-00`), { recursive: true })
  mkdirSync(join(cacheDir, `.partial-${process.ppid}-00`))
  await ensureRecipe(recipe(), { cacheDir, npm: servingNpm() })
  expect(readdirSync(cacheDir).sort()).toEqual([`.partial-${process.ppid}-00`, 'stories15m.gguf'])
})

test('an unknown name is refused with a list of known ones', async () => {
  expect(await rejection(ensureModel('gpt-9', { cacheDir }))).toMatchObject({
    code: 'model_unknown',
    message: expect.stringContaining('tinyllama-1.1b-chat'),
  })
})

function recipe(): ModelRecipe {
  return {
    name: 'stories15m',
    title: 'two halves',
    licence: 'MIT',
    task: 'generate',
    build: 'concatenate',
    packages: [part('part-1', first), part('part-2', second)],
    bytes: first.length + second.length,
    sha256: sha256(new TextEncoder().encode('first half, second half')),
  }
}

function part(name: string, content: Uint8Array): SourcePackage {
  const files = [{ path: 'model.part', bytes: content.length, sha256: sha256(content) }]
  return { name, version: '1.0.0', downloadBytes: 1000, files }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A program that accepts npm's arguments and copies the archive of the requested package. */
function servingNpm(contents: Record<string, Uint8Array> = {}): NpmCommand {
  for (const [name, content] of Object.entries({
    'part-1': first,
    'part-2': second,
    ...contents,
  })) {
    const archive = tarFile('package/README.md', new Uint8Array(700)).concat(
      tarFile('package/model.part', content),
      [new Uint8Array(1024)],
    )
    writeFileSync(join(folder, `${name}.tgz`), gzipSync(Buffer.concat(archive)))
  }
  return npmScript(`
    const [pack, spec, , target] = process.argv.slice(2)
    const name = spec.split('@')[0]
    require('node:fs').copyFileSync(${JSON.stringify(folder)} + '/' + name + '.tgz', target + '/x.tgz')`)
}

function failingNpm(code: string): NpmCommand {
  return npmScript(`console.error('npm error code ${code}'); process.exit(1)`)
}

function npmScript(source: string): NpmCommand {
  const script = join(folder, 'npm.cjs')
  writeFileSync(script, source)
  return { command: process.execPath, args: [script] }
}

function tarFile(name: string, content: Uint8Array): Uint8Array[] {
  const header = new Uint8Array(512)
  const put = (at: number, text: string): void => header.set(new TextEncoder().encode(text), at)
  put(0, name)
  put(124, `${content.length.toString(8).padStart(11, '0')}\0`)
  put(148, '        ')
  put(156, '0')
  put(257, 'ustar\0')
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(148, `${sum.toString(8).padStart(6, '0')}\0 `)
  return [header, content, new Uint8Array((512 - (content.length % 512)) % 512)]
}
