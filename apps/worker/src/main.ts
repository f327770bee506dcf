/** Entry of the worker. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { manyRequests, startOverWith } from '@privatemode/service/start-over'

startOverWith(manyRequests)
forbidCoreDumps()
// Loaded only now, since the program may have started over.
const { run } = await import('./run.ts')
await run(process.argv.slice(2))
