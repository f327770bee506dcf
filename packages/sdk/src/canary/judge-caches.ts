/** Judges from probe results whether a backend keeps prompt caches separate; pure, so it can be simulated. */
import { chanceOfSmaller, median } from './paired-test.ts'

/** The result of one probe. */
export type Observation = {
  readonly firstTokenMs: number
  readonly promptTokens: number | undefined
  /** As reported by the backend; `undefined` if it reports nothing. */
  readonly cachedTokens: number | undefined
}

/**
 * The probes made once per round, in random order. `new` is a prompt never sent before: the cost of
 * a repeated prompt if nothing is shared. `short` is a prompt of a few words: the most a cache
 * could save.
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

/** One list for each kind that was probed, round by round, all of the same length. */
export type Observations = Readonly<Partial<Record<ProbeKind, readonly Observation[]>>>

/** Whether two requests without a salt should share a cache. */
export type Expectation = 'shared' | 'apart' | 'either'

/** The outcome of a run. */
export type Verdict =
  /** Shared if the salt is the same, and nowhere else. */
  | 'isolates'
  /** Shared where it must not be: an alarm. */
  | 'shares'
  | 'caches-nothing'
  | 'cannot-tell'

/** How one kind of probe compares with new prompts. */
export type Comparison = {
  readonly probe: ProbeKind
  readonly expected: Expectation
  /** Probes that reported more cached tokens than any prompt never sent before. */
  readonly hits: number
  readonly of: number
  readonly medianMs: number
  readonly newPromptMedianMs: number
  /** The probability of timings this much shorter than those of new prompts arising by chance. */
  readonly chance: number
  /** The fraction of a new prompt's extra time that was saved: 0 like a new prompt, 1 like a short one. */
  readonly saved: number
  readonly sharedByReports: boolean
  readonly sharedByTimes: boolean
}

/** The verdict, its basis and its reason. */
export type Judgement = {
  readonly verdict: Verdict
  /** What the verdict is based on; reports are the backend's own claim, timings are not. */
  readonly basis: 'reports and times' | 'reports' | 'times' | 'nothing'
  /** Whether long and short prompts differ clearly enough that a hit would have shown in the timings. */
  readonly timesCanTell: boolean
  readonly comparisons: readonly Comparison[]
  readonly reason: string
}

/** A difference in timings is significant below this probability. */
export const significance = 0.001
/** Below this probability, contradicting reports are not believed either. */
const doubt = 0.01
/** A smaller fraction of what a cache could save is not considered a hit, however significant. */
const leastSaved = 0.2

const controls: readonly (readonly [ProbeKind, ProbeKind])[] = [
  ['sameSalt', 'newSalted'],
  ['otherSalt', 'newSalted'],
  ['noSalt', 'newUnsalted'],
  ['otherKey', 'newOtherKey'],
]

/** `noSalt` is what two requests without a salt are expected to do. */
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

/** A backend that reports hits for prompts never sent before has no usable reports. */
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
      reason: `shared where it must not be: ${names}`,
    }
  }
  if (same === undefined) return unclear('no requests with the same salt were compared')
  const apart = forbidden.every(({ probe }) => isFaster(seen, 'sameSalt', probe))
  if (same.sharedByTimes && apart) {
    const reason = 'the same salt is quicker than a new prompt, everything else is not'
    return { verdict: 'isolates', basis: basisOf([same]), reason }
  }
  const deniedByTimes = timesCanTell && !same.sharedByTimes && isFaster(seen, 'short', 'sameSalt')
  if (same.sharedByReports) {
    // If several machines serve, some requests with the same salt miss, and timings say little.
    if (deniedByTimes && same.hits === same.of) {
      return unclear('the timings contradict the reported hits')
    }
    const isDoubtful = forbidden.some((one) => one.chance <= doubt && one.saved >= leastSaved)
    if (timesCanTell && isDoubtful) {
      return unclear('the timings suggest sharing, the reports do not; run more rounds')
    }
    return {
      verdict: 'isolates',
      basis: 'reports',
      reason: 'hits are reported for the same salt only; the timings do not confirm it',
    }
  }
  if (same.sharedByTimes) {
    return unclear('the same salt is quicker, but others may be too; run more rounds')
  }
  if (deniedByTimes) {
    const reason = 'the same salt takes as long as a new prompt'
    return { verdict: 'caches-nothing', basis: 'times', reason }
  }
  return unclear(
    'no hits are reported and the timings are too similar; use longer prompts or more rounds',
  )
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
