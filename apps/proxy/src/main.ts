#!/usr/bin/env bun
/** Entry point of `privatemode-proxy`. */
import { forbidCoreDumps } from '@privatemode/service/core-dumps'
import { endWithParent } from '@privatemode/service/end-with-parent'
import { manyRequests, startOverWith } from '@privatemode/service/start-over'
import { isAgentName } from './agents/agent-settings.ts'
import { ownCommand } from './own-command.ts'
import { servingWord } from './processes/questions.ts'
import { runtimeVariables } from './runtime-variables.ts'

startOverWith({ ...manyRequests, ...runtimeVariables })
forbidCoreDumps()
endWithParent()
// Loaded only now, because the program may have restarted itself.
const args = process.argv.slice(2)
const [agent] = args
if (args[0] === servingWord && process.send !== undefined) {
  const { serveForSupervisor } = await import('./processes/serve.ts')
  await serveForSupervisor()
} else if (isAgentName(agent)) {
  const [{ runAgent }, { refuseStart }] = await Promise.all([
    import('./agents/run-agent.ts'),
    import('./refuse-start.ts'),
  ])
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  const print = (text: string) => void process.stdout.write(text)
  const proxyCommand = ownCommand()
  const { env } = process
  await runAgent({ agent, args: args.slice(1), env, proxyCommand, say, print }).then(
    (code) => process.exit(code),
    refuseStart,
  )
} else if (agent !== undefined && !agent.startsWith('-')) {
  const [{ unknownAgent }, { refuseStart }] = await Promise.all([
    import('./agents/run-agent.ts'),
    import('./refuse-start.ts'),
  ])
  refuseStart(unknownAgent())
} else {
  const { run } = await import('./run.ts')
  await run(args)
}
