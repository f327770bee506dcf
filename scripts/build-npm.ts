/** `npm run task -- build:npm`: builds the npm packages of the proxy and the SDK in dist/npm, and does a dry run of publishing each. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPackage } from '../packages/sdk/build.ts'
import { readBuildFacts } from './deploy/build-facts.ts'
import { repository, run } from './deploy/locked-package.ts'
import { packProxy } from './deploy/npm-package.ts'
import { tryPublish } from './deploy/try-publish.ts'

const target = join(repository, 'dist', 'npm')
const work = mkdtempSync(join(tmpdir(), 'privatemode-npm-'))
try {
  const path = packProxy(join(work, 'proxy'), target, readBuildFacts())
  console.log(path.slice(repository.length + 1))
  const cwd = await buildPackage(join(work, 'sdk'))
  const name = run(['npm', 'pack', '--silent', '--pack-destination', target], { cwd })
  console.log(`dist/npm/${name.trim()}`)
  for (const archive of [path, join(target, name.trim())]) console.log(tryPublish(archive))
} finally {
  rmSync(work, { recursive: true, force: true })
}
