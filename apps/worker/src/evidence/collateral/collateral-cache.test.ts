import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@privatemode/service'
import { CollateralCache } from './collateral-cache.ts'
import { CollateralFolder } from './collateral-folder.ts'
import { type CollateralItem, dayMs, hourMs } from './collateral-item.ts'

const start = Date.UTC(2026, 0, 1)
let now: number
let lines: string[]
let path: string
const caches: CollateralCache[] = []

beforeEach(() => {
  now = start
  lines = []
  path = mkdtempSync(join(tmpdir(), 'collateral-'))
})
afterEach(() => {
  for (const cache of caches.splice(0)) cache.close()
  rmSync(path, { recursive: true })
})

function makeCache(folder?: CollateralFolder): CollateralCache {
  const write = (text: string) => lines.push(text)
  const log = createLog({ format: 'text', level: -4, write })
  const cache = new CollateralCache({ now: () => new Date(now), log, folder })
  caches.push(cache)
  return cache
}

/** A vendor whose documents carry an expiry; `answer` is its next response. */
function vendor(refreshAfterMs: number | undefined = dayMs) {
  const state = { calls: 0, answer: async (): Promise<number> => now + 10 * dayMs }
  const item: CollateralItem = {
    name: 'a list',
    refreshAfterMs,
    async fetch() {
      state.calls += 1
      return new TextEncoder().encode(String(await state.answer()))
    },
    readEnd(document) {
      const end = Number(new TextDecoder().decode(document))
      if (Number.isNaN(end)) throw new Error('no list')
      return new Date(end)
    },
  }
  return { state, item }
}

const unreachable = async (): Promise<number> => {
  throw Object.assign(new Error('the vendor refuses connections'), { code: 'connection_refused' })
}
const text = (document: Uint8Array | undefined) => document && new TextDecoder().decode(document)
/** Lets background work finish. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 0))

test('concurrent callers share one request', async () => {
  const { state, item } = vendor()
  const answer = Promise.withResolvers<number>()
  state.answer = () => answer.promise
  const cache = makeCache()
  const asking = Array.from({ length: 50 }, () => cache.get(item))
  await settle()
  answer.resolve(now + dayMs)
  expect(new Set((await Promise.all(asking)).map(text)).size).toBe(1)
  expect(state.calls).toBe(1)
})

test('an old but valid document is returned at once and refreshed in the background', async () => {
  const { state, item } = vendor()
  const cache = makeCache()
  const first = text(await cache.get(item))
  now += dayMs
  const refreshed = Promise.withResolvers<number>()
  state.answer = () => refreshed.promise
  expect(text(await cache.get(item))).toBe(first)
  expect(text(await cache.get(item))).toBe(first)
  expect(state.calls).toBe(2)
  refreshed.resolve(now + 10 * dayMs)
  await settle()
  expect(text(await cache.get(item))).not.toBe(first)
  expect(state.calls).toBe(2)
})

test('a short-lived document is refreshed after half its lifetime', async () => {
  const { state, item } = vendor()
  state.answer = async () => now + hourMs
  const cache = makeCache()
  await cache.get(item)
  now += hourMs / 2 - 1
  cache.refreshDue()
  expect(state.calls).toBe(1)
  now += 1
  cache.refreshDue()
  expect(state.calls).toBe(2)
  await settle()
})

test('the timer refreshes due documents without any request', async () => {
  const { state, item } = vendor()
  const cache = makeCache()
  await cache.get(item)
  now += dayMs
  cache.refreshDue()
  await settle()
  state.answer = unreachable
  now += 9.5 * dayMs
  expect(await cache.get(item)).toBeDefined()
})

test('an immutable document is never refreshed', async () => {
  const { state, item } = vendor(undefined)
  const cache = makeCache()
  state.answer = async () => now + 1000 * dayMs
  await cache.get({ ...item, refreshAfterMs: undefined })
  now += 900 * dayMs
  cache.refreshDue()
  expect(state.calls).toBe(1)
})

test('while the vendor is unreachable, the last good document is returned until it expires, then none', async () => {
  const { state, item } = vendor()
  const cache = makeCache()
  const first = text(await cache.get(item))
  state.answer = unreachable
  now += 9 * dayMs
  expect(text(await cache.get(item))).toBe(first)
  await settle()
  expect(lines.join('')).toContain('outcome="using the last valid one" code=connection_refused')
  now += dayMs
  expect(await cache.get(item)).toBeUndefined()
  expect(lines.join('')).toContain('outcome="left out"')
})

test('after a failure, no caller contacts the vendor for a minute', async () => {
  const { state, item } = vendor()
  state.answer = unreachable
  const cache = makeCache()
  expect(await cache.get(item)).toBeUndefined()
  expect(await cache.get(item)).toBeUndefined()
  expect(state.calls).toBe(1)
  now += 60_000
  state.answer = async () => now + dayMs
  expect(await cache.get(item)).toBeDefined()
  expect(state.calls).toBe(2)
})

test('a document that had expired on arrival is not returned', async () => {
  const { state, item } = vendor()
  state.answer = async () => now
  const cache = makeCache()
  expect(await cache.get(item)).toBeUndefined()
  expect(lines.join('')).toContain('collateral from the vendor has expired')
  expect(await cache.get(item)).toBeUndefined()
  expect(state.calls).toBe(1)
})

test('a lagging mirror or garbage does not replace a valid document', async () => {
  const { state, item } = vendor()
  const cache = makeCache()
  const first = text(await cache.get(item))
  for (const answer of [async () => now + dayMs, async () => Number.NaN]) {
    now += dayMs
    state.answer = answer
    cache.refreshDue()
    await settle()
    expect(text(await cache.get(item))).toBe(first)
  }
  expect(state.calls).toBe(3)
})

test('after a restart, stored documents are used without contacting the vendor', async () => {
  const { state, item } = vendor()
  const first = text(await makeCache(new CollateralFolder(path)).get(item))
  state.answer = unreachable
  const cache = makeCache(new CollateralFolder(path))
  expect(text(await cache.get(item))).toBe(first)
  expect(state.calls).toBe(1)
  now += dayMs
  expect(text(await cache.get(item))).toBe(first)
  await settle()
  expect(state.calls).toBe(2)
})

test('stored documents that are expired, from the future or damaged are fetched again', async () => {
  const { state, item } = vendor()
  await makeCache(new CollateralFolder(path)).get(item)
  now += 11 * dayMs
  expect(await makeCache(new CollateralFolder(path)).get(item)).toBeDefined()
  expect(state.calls).toBe(2)
  now -= 5 * dayMs
  await makeCache(new CollateralFolder(path)).get(item)
  expect(state.calls).toBe(3)
  const [file] = readdirSync(path)
  for (const damage of [
    '',
    '{}',
    ...['{"name":"another","fetchedAtMs":0}', 'null', '{'].map((head) => `${head}\n9e13`),
  ]) {
    writeFileSync(join(path, file!), damage)
    const calls = state.calls
    const fetched = text(await makeCache(new CollateralFolder(path)).get(item))
    expect(fetched).toBe(String(now + 10 * dayMs))
    expect(state.calls).toBe(calls + 1)
  }
  expect(lines.join('')).toContain('stored collateral is unusable')
})

test('an unwritable directory causes a warning; the document is still returned', async () => {
  const { item } = vendor()
  const folder = new CollateralFolder(join(path, 'gone'))
  rmSync(join(path, 'gone'), { recursive: true })
  expect(await makeCache(folder).get(item)).toBeDefined()
  expect(lines.join('')).toContain('failed to store collateral')
  writeFileSync(join(path, 'file'), '')
  expect(() => new CollateralFolder(join(path, 'file', 'below'))).toThrow('cannot be created')
})

test('a document is written atomically and leaves no temporary file behind', async () => {
  const { item } = vendor()
  await makeCache(new CollateralFolder(path)).get(item)
  expect(readdirSync(path)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.collateral$/)])
})
