import { beforeAll, beforeEach, expect, test } from 'bun:test'
import { utf8 } from '../bytes.ts'
import { fetchLog } from '../log/fetch-log.ts'
import { verifyLogProof } from '../log/log-proof.ts'
import { publishEntry } from '../log/publish.ts'
import { MemoryLog, newSigner } from '../testing/memory-log.ts'
import { noon, type SoftwareWorld, softwareWorld } from '../testing/software-world.ts'
import { formatManifest, type ManifestDraft, parseManifest } from './manifest.ts'
import {
  createLogSource,
  createStaticSource,
  type EnforcedManifest,
  enforcementLine,
  manifestFileName,
} from './manifest-source.ts'

let world: SoftwareWorld
let signer: Awaited<ReturnType<typeof newSigner>>
let log: MemoryLog
let kept: Uint8Array | undefined
let records: EnforcedManifest[]

beforeAll(async () => {
  world = await softwareWorld()
  signer = await newSigner('log.example')
})
beforeEach(() => {
  log = new MemoryLog()
  kept = undefined
  records = []
})

const record = async (enforced: EnforcedManifest) => void records.push(enforced)
const publish = (draft: Partial<ManifestDraft>) =>
  publishEntry(log, signer, formatManifest({ ...world.draft, ...draft }))
const source = () =>
  createLogSource({
    trust: { logKey: signer.verifierKey, witnesses: [], quorum: 0 },
    read: log.read,
    checkpoints: {
      load: async () => kept,
      save: async (checkpoint) => {
        kept = checkpoint
      },
    },
    record,
  })

test('the latest manifest is loaded, and the checkpoint is kept', async () => {
  await publish({ serial: 1 })
  await publish({ serial: 2 })
  const manifest = await source().load()
  expect(manifest.serial).toBe(2)
  expect(kept).toEqual(log.files.get('checkpoint')!)
})

test('the manifest that was loaded last comes with its proof, and no other does', async () => {
  const running = source()
  await publish({ serial: 1 })
  const first = await running.load()
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 0 }
  expect((await verifyLogProof(first.bytes, running.logProof(first)!, trust)).index).toBe(0)
  await publish({ serial: 2 })
  const second = await running.load()
  expect((await verifyLogProof(second.bytes, running.logProof(second)!, trust)).index).toBe(1)
  expect(running.logProof(first)).toBeUndefined()
  expect(createStaticSource(first.bytes, record).logProof(first)).toBeUndefined()
})

test('a log that went back is refused after a restart too', async () => {
  await publish({ serial: 1 })
  const old = log.copy()
  await publish({ serial: 2 })
  await source().load()
  log = old
  await expect(source().load()).rejects.toMatchObject({ code: 'log_rolled_back' })
})

test('the log is remembered even where its latest manifest cannot be read', async () => {
  await publishEntry(log, signer, utf8('{"version":2}'))
  await expect(source().load()).rejects.toMatchObject({ code: 'manifest_unsupported' })
  expect(kept).toEqual(log.files.get('checkpoint')!)
})

test('a manifest with a smaller serial than the one before is refused', async () => {
  const running = source()
  await publish({ serial: 5 })
  await running.load()
  await publish({ serial: 4 })
  await expect(running.load()).rejects.toMatchObject({ code: 'log_rolled_back' })
})

test('a manifest that was meant for another log is refused', async () => {
  const other = await newSigner('other.example')
  await publish({ logKey: other.verifierKey })
  await expect(source().load()).rejects.toMatchObject({ code: 'manifest_refused' })
  await publish({ logKey: signer.verifierKey })
  expect((await source().load()).logKey).toBe(signer.verifierKey)
})

test('an enforced manifest is recorded once, and again only when it changed', async () => {
  const running = source()
  await publish({ serial: 1 })
  const first = await running.load()
  expect(records).toEqual([])
  await running.enforced(first, noon)
  await running.enforced(first, noon)
  await publish({ serial: 2 })
  const second = await running.load()
  await running.enforced(second, noon)
  await running.enforced(first, noon)
  expect(records.map(({ manifest }) => manifest.serial)).toEqual([1, 2, 1])
  expect(records[0]).toMatchObject({ at: noon, fileName: manifestFileName(first) })
  expect(manifestFileName(first)).toMatch(/^manifest-1-[0-9a-f]{16}\.json$/)
})

test('a record that failed is tried again', async () => {
  let failures = 1
  const manifest = await parseManifest(formatManifest(world.draft))
  const flaky = createStaticSource(manifest.bytes, async (enforced) => {
    if (failures-- > 0) throw new Error('disk full')
    await record(enforced)
  })
  await expect(flaky.enforced(manifest, noon)).rejects.toThrow('disk full')
  await flaky.enforced(manifest, noon)
  expect(records.length).toBe(1)
})

test('a static manifest is read once and never fetched again', async () => {
  const fixed = createStaticSource(formatManifest(world.draft), record)
  expect(fixed.fixed).toBe(true)
  expect(await fixed.load()).toBe(await fixed.load())
})

test('log.txt gets a line when the manifest changed, and none after a restart', () => {
  const line = enforcementLine('', 'a.json', noon)
  expect(line).toBe('2026-03-01T12:00:00.000Z a.json\n')
  expect(enforcementLine(line!, 'a.json', noon)).toBeUndefined()
  expect(enforcementLine(line!, 'b.json', noon)).toBe('2026-03-01T12:00:00.000Z b.json\n')
  expect(enforcementLine(`${line}2026 b.json\n`, 'a.json', noon)).toBeDefined()
})

test('a log is read over HTTP with limits, and only 404 means that a file is not there', async () => {
  const urls: string[] = []
  const answers: Response[] = []
  const read = fetchLog('https://log.example/base/', async (url) => {
    urls.push(url)
    return answers.shift() ?? new Response(null, { status: 404 })
  })
  expect(await read('checkpoint', 10)).toBeUndefined()
  expect(urls).toEqual(['https://log.example/base/checkpoint'])
  answers.push(
    new Response('0123456789'),
    new Response('0123456789a'),
    new Response('', { status: 503 }),
  )
  expect(await read('tile/0/000', 10)).toEqual(utf8('0123456789'))
  await expect(read('tile/0/000', 10)).rejects.toMatchObject({ code: 'log_malformed' })
  await expect(read('tile/0/000', 10)).rejects.toMatchObject({ code: 'log_unreachable' })
})
