/** Runs one TypeScript program of this repository: node scripts/run.mjs FILE [arguments]. */
import { spawn } from 'node:child_process'
import { bunPath, install } from './setup.mjs'

install('runtime')
const child = spawn(bunPath(), process.argv.slice(2), { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
