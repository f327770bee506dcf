/** `npm run task -- release`: builds everything that would be published, checks it, and gathers it in dist/release with its provenance. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBuildFacts } from './deploy/build-facts.ts'
import { repository, run } from './deploy/locked-package.ts'
import { packChart } from './deploy/pack-chart.ts'
import { formatProvenance } from './deploy/provenance.ts'
import { gatherRelease, writeChecksums } from './deploy/release-files.ts'
import { signBytes } from './deploy/sign-image.ts'

const dist = join(repository, 'dist')
const facts = readBuildFacts()
const unchecked = process.argv.includes('--unchecked')
if (facts.revision.endsWith('-dirty') && !process.argv.includes('--allow-dirty')) {
  console.error(
    'the working tree differs from its commit; commit first, or give --allow-dirty for a trial',
  )
  process.exit(1)
}

rmSync(dist, { recursive: true, force: true })
mkdirSync(join(dist, 'charts'), { recursive: true })
step('binaries', 'scripts/build-binaries.ts')
step('images', 'scripts/build-images.ts')
step('npm packages', 'scripts/build-npm.ts')
for (const which of ['chart', 'backend'] as const) {
  console.log(
    packChart(which, join(dist, 'charts'), facts.epochSeconds).slice(repository.length + 1),
  )
}
if (unchecked) console.log('not checked, as asked: the tests of what was built did not run')
else step('checks', 'scripts/deploy/test.ts', '--built')

const subjects = await gatherRelease(dist)
const release = join(dist, 'release')
const tools = {
  bun: Bun.version,
  node: run(['node', '--version']).trim(),
  npm: run(['npm', '--version']).trim(),
}
writeFileSync(join(release, 'provenance.intoto.json'), formatProvenance(subjects, facts, tools))
const checksums = await writeChecksums(release)
const keyPath = process.env.PRIVATEMODE_SIGNING_KEY
if (keyPath !== undefined) {
  const signature = signBytes(new TextEncoder().encode(checksums), readFileSync(keyPath, 'utf8'))
  writeFileSync(join(release, 'SHA256SUMS.sig'), Buffer.from(signature).toString('base64'))
}
console.log(
  `${subjects.length} files of ${facts.version} at ${facts.revision} in dist/release, see SHA256SUMS`,
)

function step(name: string, ...args: string[]): void {
  const started = Date.now()
  const { exitCode } = Bun.spawnSync([process.execPath, ...args], {
    cwd: repository,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (exitCode !== 0) {
    console.error(`${name}: failed; nothing is to be published`)
    process.exit(1)
  }
  console.log(`${name}: ok (${Math.round((Date.now() - started) / 1000)} s)`)
}
