/** `npm run supply`: pins, hashes, install scripts, licences, and the registry's advisories where it can be reached. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countLicences, findLockProblems, findLoosePins, strangers } from './check-lock.ts'

const root = join(import.meta.dir, '../..')
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const lock = readJson('package-lock.json')
const files = [
  'package.json',
  ...['packages', 'apps'].flatMap((room) =>
    readdirSync(join(root, room)).map((name) => `${room}/${name}/package.json`),
  ),
]
const problems = [
  ...files.flatMap((file) => findLoosePins(file, readJson(file))),
  ...findLockProblems(lock),
]
console.log(`${strangers(lock).length} packages in the lock file, each with a hash`)
for (const [licence, count] of countLicences(lock)) console.log(`  ${licence}: ${count}`)
for (const problem of problems) console.log(`problem: ${problem}`)
const advisories = audit()
console.log(`advisories: ${advisories.said}`)
process.exit(problems.length > 0 || advisories.serious > 0 ? 1 : 0)

/** Asks the registry; where it cannot be reached or knows no advisories, says that, and is no failure. */
function audit(): { said: string; serious: number } {
  const run = Bun.spawnSync(['npm', 'audit', '--json'], { cwd: root, timeout: 60_000 })
  try {
    const { metadata } = JSON.parse(run.stdout.toString())
    const { info, low, moderate, high, critical } = metadata.vulnerabilities
    const said = `${critical} critical, ${high} high, ${moderate} moderate, ${low} low, ${info} info`
    return { said, serious: critical + high }
  } catch {
    return { said: 'could not be checked: the registry did not answer the question', serious: 0 }
  }
}
