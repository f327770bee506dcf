/** Which locked packages have known advisories: queried from the registry, or read from a snapshot of its answer. */
import { type Lock, type LockedPackage, nameOf, strangers } from './check-lock.ts'

export type Advisory = {
  readonly url: string
  readonly severity: string
  /** A range of versions, as npm writes it. */
  readonly vulnerable_versions: string
}

/** A registry's answer at a point in time: the versions queried, and the advisories it knows. */
export type Snapshot = {
  readonly takenAt: string
  readonly asked: Readonly<Record<string, readonly string[]>>
  readonly advisories: Readonly<Record<string, readonly Advisory[]>>
}

export type Finding = { readonly package: string; readonly severity: string; readonly url: string }

export type Judgement = {
  readonly findings: readonly Finding[]
  /** Packages that were not queried: nothing is known about them. */
  readonly unknown: readonly string[]
}

const answerWithinMs = 30_000

/** The versions of every package, by the name that the registry knows it under. */
export function lockedVersions(lock: Lock): Record<string, string[]> {
  const versions: Record<string, string[]> = {}
  for (const [path, entry] of strangers(lock)) {
    const name = registryName(path, entry)
    const known = versions[name] ?? []
    versions[name] = known
    if (entry.version !== undefined && !known.includes(entry.version)) known.push(entry.version)
  }
  return versions
}

const registryName = (path: string, { name }: LockedPackage) => name ?? nameOf(path)

/** Throws if the registry does not support this query; many mirrors do not. */
export async function askRegistry(registry: string, lock: Lock, now: Date): Promise<Snapshot> {
  const asked = lockedVersions(lock)
  const url = new URL('-/npm/v1/security/advisories/bulk', registry)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked),
    signal: AbortSignal.timeout(answerWithinMs),
  })
  if (!response.ok) throw new Error(`the registry answered ${response.status}`)
  const told = (await response.json()) as Record<string, Advisory[]>
  const advisories = Object.entries(told).map(([name, list]) => {
    const kept = list.map(({ url, severity, vulnerable_versions }) => ({
      ...{ url, severity, vulnerable_versions },
    }))
    return [name, kept]
  })
  return { takenAt: now.toISOString(), asked, advisories: Object.fromEntries(advisories) }
}

export function judge(lock: Lock, { asked, advisories }: Snapshot): Judgement {
  const findings: Finding[] = []
  const unknown: string[] = []
  for (const [name, versions] of Object.entries(lockedVersions(lock))) {
    for (const version of versions) {
      const shown = `${name}@${version}`
      const about = advisories[name] ?? []
      const hit = about.filter((one) => Bun.semver.satisfies(version, one.vulnerable_versions))
      for (const { severity, url } of hit) findings.push({ package: shown, severity, url })
      if (asked[name]?.includes(version) !== true) unknown.push(shown)
    }
  }
  return { findings, unknown }
}

export const isSerious = ({ severity }: Finding): boolean =>
  severity === 'high' || severity === 'critical'
