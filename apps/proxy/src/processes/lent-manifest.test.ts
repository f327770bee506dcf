import { expect, test } from 'bun:test'
import type { Manifest, ManifestSource } from '@privatemode/sdk'
import { AttestationError } from '@privatemode/sdk'
import { formatManifest, parseManifest } from '../../../../packages/attestation/src/index.ts'
import { rejection } from '../../../../test/rejection.ts'
import { Channel } from './channel.ts'
import { borrowManifest, createManifestLender, type ManifestLender } from './lent-manifest.ts'
import type { ToServing, ToSupervisor } from './questions.ts'

const at = new Date('2026-01-01T00:00:00Z')
const proof = Uint8Array.of(1, 2, 3)
const fresh = { asOf: at, staleAt: new Date('2026-01-04T00:00:00Z') }

const manifestOf = (serial: number): Promise<Manifest> => {
  const rule = { kind: 'software', measurements: ['ab'.repeat(48)], root: 'cd'.repeat(32) }
  return parseManifest(
    formatManifest({
      issuedAt: '2026-01-01T00:00:00Z',
      serial,
      evidence: 'software',
      roles: { worker: { accept: [{ ...rule, minimum_tcb: 1 }] } },
      models: [],
    }),
  )
}

/** A source with a replaceable manifest that records how often it was loaded and what was enforced. */
function source() {
  const state = {
    current: manifestOf(1),
    loads: 0,
    enforced: [] as number[],
    recording: 0,
    mostAtOnce: 0,
  }
  const made: ManifestSource = {
    fixed: false,
    logProof: () => proof,
    freshness: () => fresh,
    load() {
      state.loads++
      return state.current
    },
    async enforced({ serial }) {
      state.recording++
      state.mostAtOnce = Math.max(state.mostAtOnce, state.recording)
      await Bun.sleep(1)
      state.recording--
      state.enforced.push(serial)
    },
  }
  return { state, lender: createManifestLender(made) }
}

/** A process that borrows from the lender. */
function borrower(lender: ManifestLender): ManifestSource {
  const answers = {
    manifest: () => lender.load(),
    async enforced({ digest, atMs }: { digest: string; atMs: number }) {
      await lender.enforced(digest, new Date(atMs))
      return null
    },
  }
  const none = () => Promise.reject(new Error('not asked here'))
  const rest = { settings: none, listening: none, refused: none, ready: none, joint: none }
  const supervisor = new Channel<ToServing, ToSupervisor>((message) => near.receive(message), {
    ...rest,
    ...answers,
  })
  const near: Channel<ToSupervisor, ToServing> = new Channel<ToSupervisor, ToServing>(
    (message) => supervisor.receive(JSON.parse(JSON.stringify(message))),
    { report: none, stop: none },
  )
  return borrowManifest(near, false)
}

test('processes get the exact manifest and proof from one load', async () => {
  const { state, lender } = source()
  const [one, other] = [borrower(lender), borrower(lender)]
  const loaded = await Promise.all([one.load(), other.load()])
  const original = await state.current
  for (const manifest of loaded) {
    expect(manifest.digest).toBe(original.digest)
    expect(Buffer.from(manifest.bytes).equals(original.bytes)).toBe(true)
  }
  expect(state.loads).toBe(1)
  expect(one.logProof(loaded[0] as Manifest)).toEqual(proof)
  expect(one.freshness()).toEqual(fresh)
})

test('a manifest is recorded once it is enforced, but not an older one that comes late', async () => {
  const { state, lender } = source()
  const [one, other] = [borrower(lender), borrower(lender)]
  const first = await one.load()
  state.current = manifestOf(2)
  const second = await other.load()
  await other.enforced(second, at)
  await one.enforced(first, at)
  expect(state.enforced).toEqual([2])
})

test('records are written one at a time: two at once would write the same file', async () => {
  const { state, lender } = source()
  const borrowers = [borrower(lender), borrower(lender), borrower(lender)]
  await Promise.all(borrowers.map(async (one) => one.enforced(await one.load(), at)))
  expect(state.mostAtOnce).toBe(1)
})

test('a refused log is refused for every process', async () => {
  const { state, lender } = source()
  const refused = Promise.reject(new AttestationError('log_forked', 'the log forked'))
  refused.catch(() => {})
  state.current = refused
  expect(await rejection(borrower(lender).load())).toMatchObject({ code: 'log_forked' })
})
