#!/usr/bin/env bun
/** Entry of `privatemode-proxy`. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { raiseRequestLimit } from '@privatemode/service/request-limit'
import { memoryPace } from './memory-pace.ts'
import { servingWord } from './processes/serving-word.ts'

raiseRequestLimit(memoryPace)
forbidCoreDumps()
// Loaded after the limit is raised, since that may start the program over.
const args = process.argv.slice(2)
if (args[0] === servingWord && process.send !== undefined) {
  const { serveForSupervisor } = await import('./processes/serve.ts')
  await serveForSupervisor()
} else {
  const { run } = await import('./run.ts')
  await run(args)
}
