/** Judges from what probes saw whether a backend keeps prompt caches apart: pure, so that it can be simulated. */
import { chanceOfSmaller, median } from './paired-test.ts'

/** What one probe saw. */
export type Observation = {
  readonly firstTokenMs: number
  readonly promptTokens: number | undefined
  /** As the backend reports it; `undefined` where it reports nothing. */
  readonly cachedTokens: number | undefined
}

/**
 * What is asked once in every round, in random order. `new` is a prompt that nobody has sent before: what a repeated
 * prompt costs where nothing is shared. `short` is a prompt of a few words: what a cache could at best save.
 */
export type ProbeKind =
  | 'sameSalt'
  | 'otherSalt'
  | 'newSalted'
  | 'noSalt'
  | 'newUnsalted'
  | 'otherKey'
  | 'newOtherKey'
  | 'short'

/** One list for each kind that was asked, round by round, all of one length. */
export type Observations = Readonly<Partial<Record<ProbeKind, readonly Observation[]>>>

export type Expectation = 'shared' | 'apart' | 'either'

export type Verdict =
  /** Shared where the salt is the same, and nowhere else. */
  | 'isolates'
  /** Shared where it must not be: an alarm. */
  | 'shares'
  | 'caches-nothing'
  | 'cannot-tell'

export type Comparison = {
  readonly probe: ProbeKind
  readonly expected: Expectation
  /** Probes that reported more cached tokens than any prompt that was never sent before. */
  readonly hits: number
  readonly of: number
  readonly medianMs: number
  readonly newPromptMedianMs: number
  /** The chance that times so much shorter than those of new prompts mean nothing. */
  readonly chance: number
  /** The part of a new prompt's extra time that was saved: 0 as new, 1 as quick as a short prompt. */
  readonly saved: number
  readonly sharedByReports: boolean
  readonly sharedByTimes: boolean
}

export type Judgement = {
  readonly verdict: Verdict
  /** What the verdict rests on; reports are the backend's own word, times are not. */
  readonly basis: 'reports and times' | 'reports' | 'times' | 'nothing'
  /** Whether long and short prompts differ so clearly that a hit would have shown in the times. */
  readonly timesCanTell: boolean
  readonly comparisons: readonly Comparison[]
  readonly reason: string
}

/** A difference in times counts below this chance of being none. */
export const significance = 0.001
/** Below this chance, reports that say otherwise are not believed either. */
const doubt = 0.01
/** A smaller part of what a cache could save is not taken for a hit, however certain. */
const leastSaved = 0.2

const controls: readonly (readonly [ProbeKind, ProbeKind])[] = [
  ['sameSalt', 'newSalted'],
  ['otherSalt', 'newSalted'],
  ['noSalt', 'newUnsalted'],
  ['otherKey', 'newOtherKey'],
]

/** `noSalt` says what is expected of two requests without a salt. */
export function judgeCaches(seen: Observations, noSalt: Expectation = 'apart'): Judgement {
  const timesCanTell = isFaster(seen, 'short', 'newSalted')
  const expectations: Partial<Record<ProbeKind, Expectation>> = { sameSalt: 'shared', noSalt }
  const comparisons = controls.flatMap(([probe, control]) => {
    if (seen[probe] === undefined || seen[control] === undefined) return []
    return [compare(seen, probe, control, expectations[probe] ?? 'apart', timesCanTell)]
  })
  return { timesCanTell, comparisons, ...decide(seen, comparisons, timesCanTell) }
}

function compare(
  seen: Observations,
  probe: ProbeKind,
  control: ProbeKind,
  expected: Expectation,
  timesCanTell: boolean,
): Comparison {
  const [probes, fresh] = [seen[probe] ?? [], seen[control] ?? []]
  const [medianMs, newPromptMedianMs] = [medianOf(seen, probe), medianOf(seen, control)]
  const floor = Math.max(0, ...fresh.map(({ cachedTokens }) => cachedTokens ?? 0))
  const hits = probes.filter(({ cachedTokens }) => (cachedTokens ?? 0) > floor).length
  const chance = chanceOfSmaller(times(probes), times(fresh))
  const saved = (newPromptMedianMs - medianMs) / (newPromptMedianMs - medianOf(seen, 'short'))
  return {
    probe,
    expected,
    hits,
    of: probes.length,
    medianMs,
    newPromptMedianMs,
    chance,
    saved,
    sharedByReports: hits > 0 && areReportsSound(fresh, floor),
    sharedByTimes: timesCanTell && chance <= significance && saved >= leastSaved,
  }
}

/** Who reports hits for prompts that nobody has sent reports nothing. */
function areReportsSound(fresh: readonly Observation[], floor: number): boolean {
  return fresh.every(({ promptTokens }) => promptTokens !== undefined && floor < promptTokens / 2)
}

type Decision = Pick<Judgement, 'verdict' | 'basis' | 'reason'>

function decide(
  seen: Observations,
  comparisons: readonly Comparison[],
  timesCanTell: boolean,
): Decision {
  const same = comparisons.find(({ probe }) => probe === 'sameSalt')
  const forbidden = comparisons.filter(({ expected }) => expected === 'apart')
  const leaks = forbidden.filter((one) => one.sharedByReports || one.sharedByTimes)
  if (leaks.length > 0) {
    const names = leaks.map(({ probe }) => probe).join(', ')
    return {
      verdict: 'shares',
      basis: basisOf(leaks),
      reason: `shared where it must not: ${names}`,
    }
  }
  if (same === undefined) return unclear('same salts were not compared')
  const apart = forbidden.every(({ probe }) => isFaster(seen, 'sameSalt', probe))
  if (same.sharedByTimes && apart) {
    const reason = 'the same salt is quicker than a new prompt, everything else is not'
    return { verdict: 'isolates', basis: basisOf([same]), reason }
  }
  const deniedByTimes = timesCanTell && !same.sharedByTimes && isFaster(seen, 'short', 'sameSalt')
  if (same.sharedByReports) {
    // Several machines may serve: then some of the same salts miss, and the times say little.
    if (deniedByTimes && same.hits === same.of) {
      return unclear('hits are reported that the times deny')
    }
    const isDoubtful = forbidden.some((one) => one.chance <= doubt && one.saved >= leastSaved)
    if (timesCanTell && isDoubtful) {
      return unclear('times suggest sharing that the reports deny: more rounds')
    }
    return {
      verdict: 'isolates',
      basis: 'reports',
      reason: 'hits are reported for the same salt alone; the times do not confirm it',
    }
  }
  if (same.sharedByTimes) {
    return unclear('the same salt is quicker, but whether only it is cannot be told: more rounds')
  }
  if (deniedByTimes) {
    const reason = 'the same salt takes as long as a new prompt'
    return { verdict: 'caches-nothing', basis: 'times', reason }
  }
  return unclear('no hits are reported and the times are too alike: longer prompts or more rounds')
}

function basisOf(shared: readonly Comparison[]): Judgement['basis'] {
  const byReports = shared.some((one) => one.sharedByReports)
  if (!shared.some((one) => one.sharedByTimes)) return 'reports'
  return byReports ? 'reports and times' : 'times'
}

const unclear = (reason: string): Decision => ({ verdict: 'cannot-tell', basis: 'nothing', reason })

function isFaster(seen: Observations, quick: ProbeKind, slow: ProbeKind): boolean {
  const [quicks, slows] = [seen[quick] ?? [], seen[slow] ?? []]
  if (quicks.length === 0 || quicks.length !== slows.length) return false
  return chanceOfSmaller(times(quicks), times(slows)) <= significance
}

const times = (observations: readonly Observation[]) =>
  observations.map(({ firstTokenMs }) => firstTokenMs)

const medianOf = (seen: Observations, kind: ProbeKind) => median(times(seen[kind] ?? []))
