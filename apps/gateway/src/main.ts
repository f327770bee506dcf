/** Entry point of the gateway and of its commands. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { endWithParent } from '@privatemode/service/end-with-parent'
import { serverVariables, startOverWith } from '@privatemode/service/start-over'

const args = process.argv.slice(2)
// A command ends before any of it would pay off.
const isCommand = args[0] !== undefined && !args[0].startsWith('-')
if (!isCommand) startOverWith(serverVariables)
forbidCoreDumps()
endWithParent()
// Loaded only now, because the program may have restarted itself.
const { run } = await import('./run.ts')
await run(args)
