import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type BuiltPortal, buildPortal, ensurePortal } from './build.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-portal-'))
let built: BuiltPortal

beforeAll(async () => {
  built = await buildPortal(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const assets = () => readdirSync(join(folder, 'assets'))

test('a browser loads less than 155 kB, compressed', () => {
  const loaded = built.files.filter(({ name }) => name !== 'licences.txt')
  const bytes = loaded.map(({ name }) => statSync(join(folder, `${name}.gz`)).size)
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(155_000)
})

test('each file has a compressed copy with the same content', () => {
  for (const { name } of built.files) {
    const twin = gunzipSync(readFileSync(join(folder, `${name}.gz`)))
    expect(twin.equals(readFileSync(join(folder, name)))).toBe(true)
  }
})

test('the document has no inline code and names files that exist', () => {
  const html = read('index.html')
  expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/)
  const named = [...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((match) => match[1] ?? '')
  expect(named.length).toBe(3)
  for (const name of named) expect(statSync(join(folder, name)).isFile()).toBe(true)
})

test('names contain a hash, so that files can be cached forever', () => {
  for (const name of assets()) expect(name).toMatch(/-[0-9a-z]{8,}\.(js|css|svg)(\.gz)?$/)
})

test('nothing refers to another origin, evaluates text or writes HTML', () => {
  for (const name of assets().filter((asset) => /\.(js|css)$/.test(asset))) {
    const text = read(join('assets', name))
    expect(text).not.toMatch(/\beval\(|new Function\(|insertAdjacentHTML|document\.write/)
    expect(text).not.toMatch(/@import|url\(\s*["']?(https?:)?\/\//)
    const hosts = [...text.matchAll(/https?:\/\/([a-z0-9.-]+)/gi)].map((match) => match[1])
    // Names of XML namespaces and of the schema in a snippet; none of them is ever fetched.
    const names = ['www.w3.org', 'opencode.ai', 'localhost', 'standards.iso.org']
    for (const host of hosts) expect(names).toContain(host ?? '')
  }
})

test('the licences name what the pages contain', () => {
  const text = read('licences.txt')
  for (const name of ['Privatemode', 'preact 11.2.0 (MIT)', 'uplot 1.6.32 (MIT)']) {
    expect(text).toContain(name)
  }
})

test('the same sources are not built twice, but an interrupted build is repeated', async () => {
  const mark = join(folder, 'index.html')
  writeFileSync(mark, 'kept')
  await ensurePortal(folder)
  expect(read('index.html')).toBe('kept')
  writeFileSync(join(folder, 'build.txt'), 'of other sources')
  await ensurePortal(folder)
  expect(read('index.html')).toStartWith('<!doctype html>')
})

test('files of an earlier build are removed', async () => {
  writeFileSync(join(folder, 'assets', 'old-00000000.js'), '')
  await buildPortal(folder)
  expect(assets()).not.toContain('old-00000000.js')
})
