import { beforeAll, expect, test } from 'bun:test'
import { thrown } from '../../../../test/rejection.ts'
import { utf8 } from '../bytes.ts'
import { entries, MemoryLog, newSigner } from '../testing/memory-log.ts'
import { noon } from '../testing/software-world.ts'
import type { AttestationErrorCode } from '../verdict.ts'
import { cosignCheckpoint, openCheckpoint, signCheckpoint } from './checkpoint.ts'
import { formatLogProof, parseLogProof, verifyLogProof } from './log-proof.ts'
import { publishEntry, refreshCheckpoint } from './publish.ts'
import { verifyLatest } from './verify-latest.ts'

let signer: Awaited<ReturnType<typeof newSigner>>
let honest: MemoryLog
/** Checkpoints of the honest log by size. */
const history = new Map<number, Uint8Array>()

beforeAll(async () => {
  signer = await newSigner('log.example')
  honest = new MemoryLog()
  for (const [index, entry] of entries(300).entries()) {
    history.set(index + 1, await honest.publish(signer, entry))
  }
})

const later = new Date(noon.getTime() + 86_400_000)
const latest = (log: MemoryLog, remembered?: Uint8Array) =>
  verifyLatest({
    read: log.read,
    logKey: signer.verifierKey,
    witnesses: [],
    quorum: 0,
    remembered,
  })
const refused = async (attempt: Promise<unknown>, code: AttestationErrorCode) => {
  const error = await attempt.then(
    () => expect.unreachable('was accepted'),
    (error) => error,
  )
  expect(error).toMatchObject({ name: 'AttestationError', code })
  return error.message as string
}
/** The same log up to `size`, then with different entries up to `total`. */
const fork = async (size: number, total: number) => {
  const log = new MemoryLog()
  await log.publish(signer, ...entries(size), ...entries(total - size, 9000))
  return log
}

test('the latest entry is found and proven', async () => {
  const found = await latest(honest)
  expect(new TextDecoder().decode(found.entry)).toBe('entry 299')
  expect(found.index).toBe(299)
  expect(found.checkpoint).toEqual(new Uint8Array(history.get(300)!))
})

test('the log may grow from any remembered size', async () => {
  for (const [size, remembered] of history) {
    if (size % 11 === 0 || [1, 255, 256, 257, 300].includes(size)) await latest(honest, remembered)
  }
})

test('few files are read, whatever the size of the log', async () => {
  const log = honest.copy()
  await latest(log, history.get(7)!)
  expect(new Set(log.paths).size).toBeLessThanOrEqual(5)
})

test('a log that rolled back is refused, and the message says so', async () => {
  const old = new MemoryLog()
  await old.publish(signer, ...entries(299))
  const message = await refused(latest(old, history.get(300)!), 'log_rolled_back')
  expect(message).toContain('manifest log rolled back: it has 299 entries and had 300 before')
})

test('a log that forks is refused at the same size and at every larger one', async () => {
  for (const [known, common, total] of [
    [7, 6, 7],
    [7, 6, 8],
    [8, 7, 20],
    [256, 255, 258],
    [17, 0, 40],
    [64, 63, 65],
    [1, 0, 2],
  ] as const) {
    const message = await refused(
      latest(await fork(common, total), history.get(known)!),
      'log_forked',
    )
    expect(message).toContain('manifest log forked')
  }
})

test('a fork hidden behind tiles of the honest log is refused', async () => {
  // Tiles that lead to the remembered root cannot lead to the forked one as well.
  const forked = await fork(0, 300)
  const mixed = honest.copy()
  mixed.files.set('checkpoint', forked.files.get('checkpoint')!)
  await refused(latest(mixed, history.get(299)!), 'log_inclusion_invalid')
  await refused(latest(mixed), 'log_inclusion_invalid')
})

test('an entry other than the one in the tree is refused', async () => {
  const lying = honest.copy()
  const path = 'tile/entries/001.p/44'
  const text = new TextDecoder().decode(lying.files.get(path)!)
  lying.files.set(path, utf8(text.replace('entry 299', 'entry 666')))
  await refused(latest(lying), 'log_inclusion_invalid')
})

test('a bit flip in any tile or bundle that is read is refused', async () => {
  const log = honest.copy()
  await latest(log, history.get(290)!)
  for (const path of new Set(log.paths)) {
    const bytes = log.files.get(path)
    if (bytes === undefined || path === 'checkpoint') continue
    const lying = honest.copy()
    // The last byte of a file is always significant: it belongs to the last hash or the last entry.
    const changed = bytes.slice()
    changed[changed.length - 1]! ^= 1
    lying.files.set(path, changed)
    await refused(latest(lying, history.get(290)!), 'log_inclusion_invalid')
  }
})

test('an older entry shown as the latest is refused', async () => {
  const lying = honest.copy()
  const bundle = new TextDecoder().decode(lying.files.get('tile/entries/001.p/44')!)
  const swapped = bundle.replace('entry 299', 'entry 298')
  lying.files.set('tile/entries/001.p/44', utf8(swapped))
  await refused(latest(lying), 'log_inclusion_invalid')
})

test('missing files, an empty log and a checkpoint by an unknown signer are refused', async () => {
  await refused(latest(new MemoryLog()), 'log_unreachable')
  for (const path of ['tile/0/001.p/44', 'tile/entries/001.p/44']) {
    const lying = honest.copy()
    lying.files.delete(path)
    await refused(latest(lying), 'log_unreachable')
  }
  const strange = new MemoryLog()
  await strange.publish(await newSigner('log.example'), 'entry 0')
  await refused(latest(strange), 'log_signature_invalid')
  const empty = new MemoryLog()
  const head = { origin: 'log.example', size: 0, root: new Uint8Array(32) }
  empty.files.set('checkpoint', await signCheckpoint(head, signer, noon))
  await refused(latest(empty), 'log_malformed')
})

test('a checkpoint that promises more entries than there are tiles is refused', async () => {
  const lying = honest.copy()
  const { root } = await openCheckpoint(history.get(300)!, signer.key, { witnesses: [], quorum: 0 })
  const head = { origin: 'log.example', size: 2 ** 40, root }
  lying.files.set('checkpoint', await signCheckpoint(head, signer, noon))
  await refused(latest(lying, history.get(300)!), 'log_unreachable')
})

test('a remembered checkpoint that the log did not sign is refused', async () => {
  const stranger = await newSigner('log.example')
  const forged = await signCheckpoint(
    { origin: 'log.example', size: 1, root: new Uint8Array(32) },
    stranger,
    noon,
  )
  await refused(latest(honest, forged), 'log_signature_invalid')
})

test('two checkpoints of the same size with different roots are a fork, whatever else the host withholds', async () => {
  const forked = await fork(299, 300)
  for (const path of forked.files.keys()) if (path !== 'checkpoint') forked.files.delete(path)
  await refused(latest(forked, history.get(300)), 'log_forked')
})

test('witnesses are required for the new checkpoint, not for the remembered one', async () => {
  const witness = await newSigner('w1', 'cosignature/v1')
  const log = honest.copy()
  const inputs = {
    read: log.read,
    logKey: signer.verifierKey,
    witnesses: [witness.verifierKey],
    quorum: 1,
    remembered: history.get(20),
  }
  await refused(verifyLatest(inputs), 'log_witnesses_missing')
  log.files.set('checkpoint', await cosignCheckpoint(history.get(300)!, witness, new Date()))
  expect((await verifyLatest(inputs)).witnesses).toEqual(['w1'])
})

test('unusable trust settings are refused before the log is read', async () => {
  const read = () => expect.unreachable('the log is read')
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 1 }
  await refused(verifyLatest({ ...trust, read, remembered: undefined }), 'log_malformed')
})

test('the same entry is not published twice in a row: its checkpoint is dated again', async () => {
  const log = honest.copy()
  const again = await publishEntry(log, signer, utf8('entry 299'), { at: later })
  expect(again).toMatchObject({ index: 299, appended: false })
  expect((await latest(log, history.get(300)!)).asOf).toEqual(later)
})

test('refreshing a log signs its latest state again, keeps the witnesses, and appends nothing', async () => {
  const witness = await newSigner('w1', 'cosignature/v1')
  const log = honest.copy()
  log.files.set('checkpoint', await cosignCheckpoint(history.get(300)!, witness, noon))
  const trust = { logKey: signer.verifierKey, witnesses: [witness.verifierKey], quorum: 1 }
  const find = () => verifyLatest({ ...trust, read: log.read, remembered: history.get(300) })
  await refreshCheckpoint(log, signer, { at: later })
  expect(await find()).toMatchObject({ index: 299, asOf: noon, witnesses: ['w1'] })
  const cosign = (note: Uint8Array) => cosignCheckpoint(note, witness, later)
  await refreshCheckpoint(log, signer, { at: later, cosign })
  expect(await find()).toMatchObject({ index: 299, asOf: later, rememberedAsOf: noon })
})

test('a publisher does not sign again a log that is empty, not its own, or modified', async () => {
  await refused(refreshCheckpoint(new MemoryLog(), signer), 'log_malformed')
  const stranger = await newSigner('log.example')
  await refused(refreshCheckpoint(honest.copy(), stranger), 'log_signature_invalid')
  const changed = honest.copy()
  changed.files.set('tile/0/001.p/44', (await fork(256, 300)).files.get('tile/0/001.p/44')!)
  await refused(refreshCheckpoint(changed, signer), 'log_inclusion_invalid')
  expect(changed.files.get('checkpoint')).toEqual(history.get(300)!)
})

test('a publisher that died before writing the checkpoint recovers on the next run', async () => {
  const log = honest.copy()
  const write = async (path: string, bytes: Uint8Array) => {
    if (path === 'checkpoint') throw new Error('disk full')
    log.files.set(path, bytes)
  }
  const died = publishEntry({ read: log.read, write }, signer, utf8('lost'))
  expect(await thrown(died)).toThrow('disk full')
  expect((await latest(log, history.get(300)!)).index).toBe(299)
  await log.publish(signer, 'kept')
  const found = await latest(log, history.get(300)!)
  expect(new TextDecoder().decode(found.entry)).toBe('kept')
})

test('an entry that is too long for the format is not published', async () => {
  const log = honest.copy()
  const long = publishEntry(log, signer, new Uint8Array(65_536))
  await refused(long, 'log_malformed')
})

test('a proof verifies its entry without a network, and no other entry', async () => {
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 0 }
  const { entry, proof } = await latest(honest)
  expect((await verifyLogProof(entry, proof, trust)).index).toBe(299)
  await refused(verifyLogProof(utf8('entry 298'), proof, trust), 'log_inclusion_invalid')
  const parsed = parseLogProof(proof)
  expect(formatLogProof(parsed)).toEqual(proof)
  const moved = formatLogProof({ ...parsed, index: 298 })
  await refused(verifyLogProof(entry, moved, trust), 'log_inclusion_invalid')
  const other = await newSigner('log.example')
  const otherTrust = { ...trust, logKey: other.verifierKey }
  await refused(verifyLogProof(entry, proof, otherTrust), 'log_signature_invalid')
  for (const text of [
    '',
    'c2sp.org/tlog-proof@v1\nindex 0\nAAAA\n\nnote',
    `c2sp.org/tlog-proof@v1\nindex 0\n\n${'x'.repeat(80_000)}`,
    'c2sp.org/tlog-proof@v2\nindex 0\n\n',
    'c2sp.org/tlog-proof@v1\nindex 00\n\n',
  ]) {
    expect(() => parseLogProof(utf8(text))).toThrow(
      expect.objectContaining({ code: 'log_malformed' }),
    )
  }
  expect(() => parseLogProof(Uint8Array.of(...proof, 0xff))).toThrow('not valid UTF-8')
})
