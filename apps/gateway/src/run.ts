/** Runs a gateway, or one command against a running one. */
import { onShutdown } from '@privatemode/service'
import { runCommand } from './cli/command.ts'
import { runMigrate } from './cli/migrate-command.ts'
import { startGateway } from './gateway.ts'
import { parseSettings } from './settings.ts'

const print = (text: string) => process.stdout.write(text)

export async function run(args: readonly string[]): Promise<void> {
  try {
    if (args[0] === 'migrate') process.exit(await runMigrate(args.slice(1), process.env, print))
    if (args[0] !== undefined && !args[0].startsWith('-')) {
      process.exit(await runCommand(args, process.env, print))
    }
    const parsed = parseSettings({ args, env: process.env })
    if (parsed.kind === 'text') {
      process.stdout.write(parsed.text)
      process.exit(0)
    }
    const gateway = await startGateway(parsed.settings, { env: process.env })
    onShutdown({ stop: () => gateway.stop(), limitMs: parsed.settings.limits.drainMs + 5_000 })
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : 'the gateway failed'}\n`)
    process.exit(1)
  }
}
