/** `npm run task -- build:binaries [NAME…]`: the proxy as single files in dist/bin. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { compileProxy } from './deploy/compile-proxy.ts'
import { repository } from './deploy/locked-package.ts'
import { findTarget, targets } from './deploy/targets.ts'

const wanted = process.argv.slice(2)
for (const target of wanted.length === 0 ? targets : wanted.map(findTarget)) {
  const suffix = target.executable.endsWith('.exe') ? '.exe' : ''
  const path = join(repository, 'dist', 'bin', `privatemode-proxy-${target.name}${suffix}`)
  compileProxy(target, path)
  console.log(`${path.slice(repository.length + 1)}: ${Math.round(statSync(path).size / 1e6)} MB`)
}
