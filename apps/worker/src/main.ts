/** Entry of the worker. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { raiseRequestLimit } from '@privatemode/service/request-limit'

raiseRequestLimit()
forbidCoreDumps()
// Loaded after the limit is raised, since that may start the program over.
const { run } = await import('./run.ts')
await run(process.argv.slice(2))
