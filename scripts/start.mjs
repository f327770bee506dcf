/** `npm start`: set-up, then the whole system on one machine. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { bunPath, install, root } from './setup.mjs'

install('runtime')
const program = join(root, 'apps', 'stack', 'src', 'main.ts')
const child = spawn(bunPath(), [program, ...process.argv.slice(2)], { stdio: 'inherit' })
// The terminal sends Ctrl-C to the whole group; the stack drains, and this waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
