import { beforeAll, beforeEach, expect, test } from 'bun:test'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { utf8 } from '../bytes.ts'
import { cosignCheckpoint } from '../log/checkpoint.ts'
import { fetchLog } from '../log/fetch-log.ts'
import { defaultMaxLogAgeHours } from '../log/freshness.ts'
import { verifyLogProof } from '../log/log-proof.ts'
import { publishEntry, refreshCheckpoint } from '../log/publish.ts'
import { formatSignedNote, parseSignedNote } from '../log/signed-note.ts'
import { MemoryLog, newSigner } from '../testing/memory-log.ts'
import { noon, type SoftwareWorld, softwareWorld } from '../testing/software-world.ts'
import { formatManifest, type ManifestDraft, parseManifest } from './manifest.ts'
import {
  createLogSource,
  createStaticSource,
  type EnforcedManifest,
  enforcementLine,
  type LogSourceOptions,
  manifestFileName,
} from './manifest-source.ts'

let world: SoftwareWorld
let signer: Awaited<ReturnType<typeof newSigner>>
let log: MemoryLog
let kept: Uint8Array | undefined
let records: EnforcedManifest[]
let now: Date

beforeAll(async () => {
  world = await softwareWorld()
  signer = await newSigner('log.example')
})
beforeEach(() => {
  log = new MemoryLog()
  kept = undefined
  records = []
  now = noon
})

const record = async (enforced: EnforcedManifest) => void records.push(enforced)
const publish = (draft: Partial<ManifestDraft>) =>
  publishEntry(log, signer, formatManifest({ ...world.draft, ...draft }), { at: noon })
const source = (change: Partial<LogSourceOptions> = {}) =>
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
    now: () => now,
    maxAgeHours: defaultMaxLogAgeHours,
    ...change,
  })

test('the latest manifest is loaded, and the checkpoint is stored', async () => {
  await publish({ serial: 1 })
  await publish({ serial: 2 })
  const manifest = await source().load()
  expect(manifest.serial).toBe(2)
  expect(kept).toEqual(log.files.get('checkpoint')!)
})

test('the manifest loaded last has a proof, and no other does', async () => {
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

test('a log that rolled back is refused after a restart too', async () => {
  await publish({ serial: 1 })
  const old = log.copy()
  await publish({ serial: 2 })
  await source().load()
  log = old
  expect(await rejection(source().load())).toMatchObject({ code: 'log_rolled_back' })
})

/** A client that started with nothing and has read an old state when another one stores a newer one. */
async function overtaken(rest: (old: MemoryLog) => MemoryLog) {
  await publish({ serial: 1 })
  const old = log.copy()
  await publish({ serial: 2 })
  let shown = old
  const read: MemoryLog['read'] = async (path) => {
    const file = await shown.read(path)
    // The last file of the first verification.
    if (path.startsWith('tile/entries') && kept === undefined) {
      await source().load()
      shown = rest(old)
    }
    return file
  }
  return source({ read }).load()
}

test('a state that another client stored meanwhile is never replaced by an older one', async () => {
  expect(await rejection(overtaken((old) => old))).toMatchObject({ code: 'log_rolled_back' })
  expect(kept).toEqual(log.files.get('checkpoint')!)
})

test('a client that another one has overtaken reads the log again', async () => {
  expect((await overtaken(() => log)).serial).toBe(2)
  expect(kept).toEqual(log.files.get('checkpoint')!)
})

test('the log state is stored even if its latest manifest cannot be parsed', async () => {
  await publishEntry(log, signer, utf8('{"version":2}'), { at: noon })
  expect(await rejection(source().load())).toMatchObject({ code: 'manifest_unsupported' })
  expect(kept).toEqual(log.files.get('checkpoint')!)
})

test('a manifest with a smaller serial than the one before is refused', async () => {
  const running = source()
  await publish({ serial: 5 })
  await running.load()
  await publish({ serial: 4 })
  expect(await rejection(running.load())).toMatchObject({ code: 'log_rolled_back' })
})

test('a manifest that was meant for another log is refused', async () => {
  const other = await newSigner('other.example')
  await publish({ logKey: other.verifierKey })
  expect(await rejection(source().load())).toMatchObject({ code: 'manifest_refused' })
  await publish({ logKey: signer.verifierKey })
  expect((await source().load()).logKey).toBe(signer.verifierKey)
})

test('an enforced manifest is recorded once, and again only when it changes', async () => {
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

test('a failed recording is retried', async () => {
  let failures = 1
  const manifest = await parseManifest(formatManifest(world.draft))
  const flaky = createStaticSource(manifest.bytes, async (enforced) => {
    if (failures-- > 0) throw new Error('disk full')
    await record(enforced)
  })
  expect(await thrown(flaky.enforced(manifest, noon))).toThrow('disk full')
  await flaky.enforced(manifest, noon)
  expect(records.length).toBe(1)
})

test('a static manifest is read once and never fetched again', async () => {
  const fixed = createStaticSource(formatManifest(world.draft), record)
  expect(fixed.fixed).toBe(true)
  expect(await fixed.load()).toBe(await fixed.load())
})

test('log.txt gets a line when the manifest changes, and none after a restart', () => {
  const line = enforcementLine('', 'a.json', noon)
  expect(line).toBe('2026-03-01T12:00:00.000Z a.json\n')
  expect(enforcementLine(line!, 'a.json', noon)).toBeUndefined()
  expect(enforcementLine(line!, 'b.json', noon)).toBe('2026-03-01T12:00:00.000Z b.json\n')
  expect(enforcementLine(`${line}2026 b.json\n`, 'a.json', noon)).toBeDefined()
})

test('a log is read over HTTP with limits, and only 404 means that a file does not exist', async () => {
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
  expect(await rejection(read('tile/0/000', 10))).toMatchObject({ code: 'log_malformed' })
  expect(await rejection(read('tile/0/000', 10))).toMatchObject({ code: 'log_unreachable' })
})

const hours = (count: number) => new Date(noon.getTime() + count * 3_600_000)

test('a log that has not been signed for 72 hours is refused, and accepted once signed again', async () => {
  await publish({})
  const running = source()
  now = new Date(hours(72).getTime() - 1)
  await running.load()
  expect(running.freshness()).toEqual({ asOf: noon, staleAt: hours(72) })
  now = hours(72)
  expect(await rejection(running.load())).toMatchObject({
    code: 'log_stale',
    message: expect.stringContaining('72 hours ago (2026-03-01T12:00:00Z), at most 72 are allowed'),
  })
  await refreshCheckpoint(log, signer, { at: now })
  await running.load()
  expect(running.freshness()).toEqual({ asOf: hours(72), staleAt: hours(144) })
})

test('cosignatures have the same age limit as the log signature', async () => {
  const witness = await newSigner('w1', 'cosignature/v1')
  const trust = { logKey: signer.verifierKey, witnesses: [witness.verifierKey], quorum: 1 }
  const cosign = (note: Uint8Array) => cosignCheckpoint(note, witness, new Date('2001-01-01'))
  await publishEntry(log, signer, formatManifest(world.draft), { at: noon, cosign })
  expect(await rejection(source({ trust }).load())).toMatchObject({ code: 'log_stale' })
  await source().load() // with trust in the log alone, no witness is needed
})

test('a log that does not say when it was signed is refused with the remedy', async () => {
  await publish({})
  const { text, signatures } = parseSignedNote(log.files.get('checkpoint')!)
  log.files.set('checkpoint', formatSignedNote({ text, signatures: signatures.slice(0, 1) }))
  expect(await rejection(source().load())).toMatchObject({
    code: 'log_stale',
    message: expect.stringContaining('manifest publish --refresh'),
  })
})

test('a clock that is behind a known event is not trusted to check any age', async () => {
  await publish({ issuedAt: '2026-03-01T12:00:00Z' })
  const clock = { code: 'clock_untrusted', message: expect.stringContaining('set the clock') }
  now = hours(-1)
  await source().load()
  now = new Date(hours(-1).getTime() - 1)
  expect(await rejection(source().load())).toMatchObject(clock)
  now = new Date('1970-01-01')
  expect(await rejection(source().load())).toMatchObject(clock)
  // The log may be backdated to match a clock that was set back: the remembered checkpoint reveals
  // that.
  now = hours(10)
  await refreshCheckpoint(log, signer, { at: now })
  await source().load()
  await refreshCheckpoint(log, signer, { at: noon })
  now = noon
  expect(await rejection(source().load())).toMatchObject(clock)
  kept = undefined
  await publish({ issuedAt: '2026-03-02T12:00:00Z' })
  expect(await rejection(source().load())).toMatchObject(clock)
})
