/** Entry point of the worker. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { endWithParent } from '@privatemode/service/end-with-parent'
import { manyRequests, serverVariables, startOverWith } from '@privatemode/service/start-over'

startOverWith({ ...manyRequests, ...serverVariables })
forbidCoreDumps()
endWithParent()
// Loaded only now, because the program may have restarted itself.
const { run } = await import('./run.ts')
await run(process.argv.slice(2))
