/** `npm run build:npm`: the npm package of the proxy in dist/npm. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readBuildFacts } from './deploy/build-facts.ts'
import { repository } from './deploy/locked-package.ts'
import { packProxy } from './deploy/npm-package.ts'

const work = mkdtempSync(join(tmpdir(), 'privatemode-npm-'))
try {
  const path = packProxy(join(work, 'proxy'), join(repository, 'dist', 'npm'), readBuildFacts())
  console.log(path.slice(repository.length + 1))
} finally {
  rmSync(work, { recursive: true, force: true })
}
