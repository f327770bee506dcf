#!/usr/bin/env bun
/** Entry of `privatemode-proxy`. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { endWithParent } from '@privatemode/service/end-with-parent'
import { manyRequests, startOverWith } from '@privatemode/service/start-over'
import { servingWord } from './processes/questions.ts'
import { runtimeVariables } from './runtime-variables.ts'

startOverWith({ ...manyRequests, ...runtimeVariables })
forbidCoreDumps()
endWithParent()
// Loaded only now, since the program may have started over.
const args = process.argv.slice(2)
if (args[0] === servingWord && process.send !== undefined) {
  const { serveForSupervisor } = await import('./processes/serve.ts')
  await serveForSupervisor()
} else {
  const { run } = await import('./run.ts')
  await run(args)
}
