import { expect, test } from 'bun:test'
import { webCryptoProvider } from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { chooseCandidates } from './candidates.ts'

const workers = Array.from({ length: 12 }, (_, n) => ({ workerId: `w_${n}` }))
const ids = (chosen: readonly { workerId: string }[]) => chosen.map(({ workerId }) => workerId)
const choose = async (salt: string | undefined, among = workers, count = 3) =>
  ids(await chooseCandidates(webCryptoProvider, among, salt, count))

test('the same salt selects the same workers in the same order, however they are listed', async () => {
  const chosen = await choose('salt')
  expect(new Set(chosen).size).toBe(3)
  expect(await choose('salt')).toEqual(chosen)
  expect(await choose('salt', workers.toReversed())).toEqual(chosen)
})

test('when a worker leaves, only the salts that selected it move', async () => {
  for (let n = 0; n < 50; n++) {
    const before = await choose(`salt ${n}`)
    const gone = workers[n % workers.length]!
    const after = await choose(
      `salt ${n}`,
      workers.filter((worker) => worker !== gone),
    )
    const kept = before.filter((id) => id !== gone.workerId)
    expect(after.filter((id) => kept.includes(id))).toEqual(kept)
  }
})

test('salts spread over all workers', async () => {
  const counts = new Map<string, number>()
  for (let n = 0; n < 600; n++) {
    const [first] = await choose(`salt ${n}`)
    counts.set(first!, (counts.get(first!) ?? 0) + 1)
  }
  expect(counts.size).toBe(workers.length)
  // 600 over 12 are 50 each; anything outside this range would not be chance.
  for (const count of counts.values()) expect(count).toBeWithin(20, 90)
})

test('without a salt, the selection differs from request to request', async () => {
  const draws = await Promise.all(Array.from({ length: 20 }, () => choose(undefined)))
  expect(new Set(draws.map(String)).size).toBeGreaterThan(10)
  for (const draw of draws) expect(new Set(draw).size).toBe(3)
})

test('salt and name cannot be confused by moving the boundary between them', async () => {
  const pair = [{ workerId: 'b' }, { workerId: 'ab' }]
  const seen = new Set<string>()
  for (const salt of ['a', 'aa', 'aaa', 'aaaa', 'b', 'bb'])
    seen.add(String(await choose(salt, pair)))
  expect(seen.size).toBe(2)
})

test('one worker or none needs no selection; fewer than requested are all used', async () => {
  expect(await choose('salt', [])).toEqual([])
  expect(await choose(undefined, workers.slice(0, 1))).toEqual(['w_0'])
  expect((await choose('salt', workers.slice(0, 2))).length).toBe(2)
})

test('both providers make the same selection, the native one synchronously', async () => {
  const native = chooseCandidates(nativeCrypto, workers, 'salt', 3)
  expect(native).not.toBeInstanceOf(Promise)
  expect(ids(await native)).toEqual(await choose('salt'))
})
