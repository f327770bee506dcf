/** Verifies the system's claims manually: npm run -s verify -- SUBCOMMAND … */

import { bundleCommand } from './bundle/bundle-command.ts'
import { cacheCommand } from './cache/cache-command.ts'
import { type Command, type Output, UsageError } from './command.ts'
import { evidenceCommand } from './evidence/evidence-command.ts'
import { manifestCommand } from './manifest/manifest-command.ts'
import { measureCommand } from './measure/measure-command.ts'
import { provisionCommand } from './provision/provision-command.ts'
import { rebuildCommand } from './rebuild/rebuild-command.ts'
import { scoreCommand } from './score/score-command.ts'

const commands: Readonly<Record<string, Command>> = {
  evidence: evidenceCommand,
  manifest: manifestCommand,
  measure: measureCommand,
  rebuild: rebuildCommand,
  provision: provisionCommand,
  bundle: bundleCommand,
  score: scoreCommand,
  cache: cacheCommand,
}

const output: Output = {
  out: (text) => process.stdout.write(`${text}\n`),
  error: (text) => process.stderr.write(`${text}\n`),
}

process.exitCode = await main(process.argv.slice(2))

async function main([name = '--help', ...rest]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h' || name === 'help') {
    output.out(formatHelp())
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  try {
    if (command === undefined) throw new UsageError(`unknown subcommand ${JSON.stringify(name)}`)
    if (rest.includes('--help') || rest.includes('-h')) {
      output.out(command.help)
      return 0
    }
    return await command.run(rest, output)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    output.error(`error: ${error.message}; see --help`)
    return 2
  }
}

function formatHelp(): string {
  const lines = Object.entries(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`,
  )
  return [
    'Checks what Privatemode relies on: evidence, manifests, measurements and bundles without a',
    'network and at a time you name, prompt caches by asking a running endpoint, and the machine by',
    'building it again.',
    '',
    'npm run -s verify -- SUBCOMMAND [options]',
    '',
    ...lines,
    '',
    'See SUBCOMMAND --help for details. Exit code: 0 yes, 1 no, 2 usage error, above that unclear.',
  ].join('\n')
}
