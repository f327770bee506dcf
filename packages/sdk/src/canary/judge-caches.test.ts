import { describe, expect, test } from 'bun:test'
import { seededShare } from '../../../attestation/src/testing/seeded-bits.ts'
import { judgeCaches, type Observation, type Observations, type ProbeKind } from './judge-caches.ts'

const kinds = ['sameSalt', 'otherSalt', 'newSalted', 'noSalt', 'newUnsalted', 'short'] as const
type Kind = (typeof kinds)[number]

type Backend = {
  /** Kinds whose prompt is actually cached. */
  readonly cached: readonly Kind[]
  /** Kinds that report hits; without a list, nothing is reported. */
  readonly reported?: readonly Kind[]
  readonly prefillMs: number
  readonly noise: (random: () => number) => number
}

const quiet = (random: () => number) => random() * 4
/** Most answers are fast, some wait very long. */
const heavy = (random: () => number) => 20 * (1 / Math.max(1e-3, random()) ** 0.7 - 1)

const isolating: Backend = {
  cached: ['sameSalt', 'short'],
  reported: ['sameSalt'],
  prefillMs: 50,
  noise: quiet,
}
const { reported: _, ...unreported } = isolating

/** What probes would observe; the machine also slows down or speeds up from round to round. */
function simulate(backend: Backend, random: () => number, rounds = 16): Observations {
  const seen: Partial<Record<ProbeKind, Observation[]>> = {}
  for (const kind of kinds) seen[kind] = []
  for (let round = 0; round < rounds; round++) {
    const load = 1 + random()
    for (const kind of kinds) {
      const prefill = backend.cached.includes(kind) ? 2 : backend.prefillMs
      seen[kind]?.push({
        firstTokenMs: load * (prefill + backend.noise(random)),
        promptTokens: kind === 'short' ? 20 : 800,
        cachedTokens: backend.reported === undefined ? undefined : reportOf(backend.reported, kind),
      })
    }
  }
  return seen
}

const reportOf = (reported: readonly Kind[], kind: Kind) => (reported.includes(kind) ? 784 : 0)

const verdictOf = (backend: Backend, rounds = 16) => {
  const { verdict, basis } = judgeCaches(simulate(backend, seededShare(1), rounds))
  return [verdict, basis]
}

describe('verdicts', () => {
  test('a backend that isolates, with and without reports', () => {
    expect(verdictOf(isolating)).toEqual(['isolates', 'reports and times'])
    expect(verdictOf(unreported)).toEqual(['isolates', 'times'])
  })

  test('a backend that shares across salts', () => {
    const cached = [...kinds].filter((kind) => !kind.startsWith('new'))
    const shared: Backend = { ...isolating, cached, reported: cached }
    expect(verdictOf(shared)).toEqual(['shares', 'reports and times'])
    expect(verdictOf({ ...unreported, cached })).toEqual(['shares', 'times'])
  })

  test('a backend that shares but reports that it does not', () => {
    const cached = [...kinds].filter((kind) => !kind.startsWith('new'))
    expect(verdictOf({ ...isolating, cached })).toEqual(['shares', 'times'])
  })

  test('a single hit under another salt is an alarm', () => {
    const seen = simulate(isolating, seededShare(1))
    const [first, ...rest] = seen.otherSalt!
    const otherSalt = [{ ...first!, cachedTokens: 16 }, ...rest]
    expect(judgeCaches({ ...seen, otherSalt }).verdict).toBe('shares')
  })

  test('requests without a salt that share, when they must not and when they may', () => {
    const cached: Kind[] = [...isolating.cached, 'noSalt']
    const seen = simulate(
      { ...isolating, cached, reported: ['sameSalt', 'noSalt'] },
      seededShare(1),
    )
    expect(judgeCaches(seen).verdict).toBe('shares')
    expect(judgeCaches(seen, 'shared').verdict).toBe('isolates')
    expect(judgeCaches(seen, 'either').verdict).toBe('isolates')
  })

  test('a second key that hits what the first one sent is an alarm', () => {
    const seen = simulate(unreported, seededShare(1))
    const keys = { otherKey: seen.sameSalt!, newOtherKey: seen.newSalted! }
    expect(judgeCaches({ ...seen, ...keys }).verdict).toBe('shares')
    const apart = { otherKey: seen.otherSalt!, newOtherKey: seen.newSalted! }
    expect(judgeCaches({ ...seen, ...apart }).verdict).toBe('isolates')
  })

  test('a backend that caches nothing', () => {
    const nothing: Backend = { ...isolating, cached: ['short'], reported: [] }
    expect(verdictOf(nothing)).toEqual(['caches-nothing', 'times'])
  })

  test('reported hits for new prompts are not evidence', () => {
    expect(verdictOf({ ...isolating, reported: kinds })).toEqual(['isolates', 'times'])
    expect(verdictOf({ ...isolating, cached: ['short'], reported: kinds })[0]).toBe(
      'caches-nothing',
    )
  })

  test('reports contradicted by the timings are not believed', () => {
    expect(verdictOf({ ...isolating, cached: ['short'] })[0]).toBe('cannot-tell')
  })

  test('reports of isolation that the timings cast doubt on, without refuting them, are not believed', () => {
    const seen = simulate(isolating, seededShare(1))
    const otherSalt = seen.otherSalt!.map((one, round) =>
      round < 9 ? { ...one, firstTokenMs: seen.sameSalt![round]!.firstTokenMs } : one,
    )
    const { verdict, comparisons } = judgeCaches({ ...seen, otherSalt })
    expect(verdict).toBe('cannot-tell')
    expect(comparisons[1]!.sharedByTimes).toBe(false)
  })

  test('if timings are inconclusive, the reports decide; without reports there is no verdict', () => {
    expect(verdictOf({ ...isolating, prefillMs: 2 })).toEqual(['isolates', 'reports'])
    expect(verdictOf({ ...unreported, prefillMs: 2 })[0]).toBe('cannot-tell')
  })

  test('too few rounds yield no verdict from timings', () => {
    expect(verdictOf(unreported, 5)[0]).toBe('cannot-tell')
  })
})

describe('chances', () => {
  const runs = 800
  const count = (backend: Backend, verdict: string) => {
    const random = seededShare(7)
    return Array.from(
      { length: runs },
      () => judgeCaches(simulate(backend, random)).verdict,
    ).filter((one) => one === verdict).length
  }

  test('an isolating or cacheless backend raises a false alarm in less than 1 of 200 runs', () => {
    const loud = { ...unreported, noise: heavy }
    for (const backend of [
      loud,
      { ...loud, prefillMs: 2 },
      { ...loud, cached: ['short' as const] },
    ]) {
      expect(count(backend, 'shares')).toBeLessThan(runs / 200)
    }
  })

  test('a sharing backend is detected in nearly every run, and never reported to isolate', () => {
    const cached = [...kinds].filter((kind) => !kind.startsWith('new'))
    const shared = { ...unreported, cached, noise: quiet }
    expect(count(shared, 'shares')).toBeGreaterThan(runs * 0.98)
    expect(count({ ...shared, noise: heavy }, 'isolates')).toBe(0)
  })
})
