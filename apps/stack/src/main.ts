/** Everything on one machine: prepares the home, starts the parts, prints what to paste, stops all. */
import { onShutdown } from '@privatemode/service'
import { parseSettings } from './settings.ts'
import { startStack } from './stack.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

try {
  const parsed = parseSettings({ args: process.argv.slice(2), env: process.env })
  if (parsed.kind === 'text') {
    process.stdout.write(parsed.text)
    process.exit(0)
  }
  const stopping = new AbortController()
  const stack = startStack(parsed.settings, say, stopping.signal)
  onShutdown({
    limitMs: 90_000,
    stop: async () => {
      say('\nStopping: running requests may end …')
      stopping.abort()
      await (await stack.catch(() => undefined))?.stop()
      say('Stopped. Nothing is left running.')
    },
  })
  await stack
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : 'the start failed'}\n`)
  process.exit(1)
}
