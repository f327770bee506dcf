/** Entry of the worker. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { keptCode, manyRequests, startOverWith } from '@privatemode/service/start-over'

startOverWith({ ...manyRequests, ...keptCode })
forbidCoreDumps()
// Loaded only now, since the program may have started over.
const { run } = await import('./run.ts')
await run(process.argv.slice(2))
