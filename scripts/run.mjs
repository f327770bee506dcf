/** Runs one TypeScript program of this repository: node scripts/run.mjs [--with-tools] FILE [arguments]. */
import { spawn } from 'node:child_process'
import { bunPath, install } from './setup.mjs'

const given = process.argv.slice(2)
const withTools = given[0] === '--with-tools'
install(withTools ? 'all' : 'runtime')
const child = spawn(bunPath(), withTools ? given.slice(1) : given, { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
