/**
 * `npm run task -- supply`: pins, hashes, install scripts, licences, and known advisories. These are queried from the registry or,
 * if it does not answer, read from the snapshot in this folder; `--snapshot` writes that from the registry's answer.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askRegistry, isSerious, judge, type Snapshot } from './audit.ts'
import {
  countLicences,
  findLockProblems,
  findLoosePins,
  packageFiles,
  strangers,
  toolLocks,
  toolsLock,
} from './check-lock.ts'

const root = join(import.meta.dir, '../..')
const snapshotPath = join(import.meta.dir, 'advisories.json')
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const lock = readJson('package-lock.json')
const problems = [
  ...packageFiles(root).flatMap((file) => findLoosePins(file, readJson(file))),
  ...findLockProblems(lock),
  ...toolLocks.flatMap((path) => findLockProblems(toolsLock(readJson(path)))),
]
console.log(`${strangers(lock).length} packages in the lock file, each with a hash`)
for (const [licence, count] of countLicences(lock)) console.log(`  ${licence}: ${count}`)
for (const problem of problems) console.log(`problem: ${problem}`)
const known = await findAdvisories()
const serious = known === undefined ? 0 : show(known)
process.exit(problems.length > 0 || serious > 0 ? 1 : 0)

/** If neither the registry nor a snapshot answers, reports that: neither a failure nor a clean result. */
async function findAdvisories(): Promise<Snapshot | undefined> {
  try {
    const { stdout } = Bun.spawnSync(['npm', 'config', 'get', 'registry'], { cwd: root })
    const asked = await askRegistry(stdout.toString().trim(), lock, new Date())
    if (process.argv.includes('--snapshot')) {
      writeFileSync(snapshotPath, `${JSON.stringify(asked, null, 2)}\n`)
    }
    console.log('advisories: as the registry knows them now')
    return asked
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    if (!existsSync(snapshotPath)) {
      console.log(`advisories: could not be checked (${reason}), and no snapshot is here`)
      return undefined
    }
    const snapshot = JSON.parse(readFileSync(snapshotPath, 'utf8')) as Snapshot
    const days = Math.floor((Date.now() - Date.parse(snapshot.takenAt)) / 86_400_000)
    console.log(`advisories: as of ${snapshot.takenAt.slice(0, 10)}, ${days} days ago (${reason})`)
    return snapshot
  }
}

function show(snapshot: Snapshot): number {
  const { findings, unknown } = judge(lock, snapshot)
  for (const { package: name, severity, url } of findings)
    console.log(`  ${name}: ${severity} ${url}`)
  if (unknown.length > 0)
    console.log(`  nothing is known of ${unknown.length}: ${unknown.join(', ')}`)
  if (findings.length === 0) console.log('  none about the others')
  return findings.filter(isSerious).length
}
