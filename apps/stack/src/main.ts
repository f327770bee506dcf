/**
 * Everything on one machine: prepares the home, starts the parts, prints what to paste, stops
 * everything.
 */
import { onShutdown } from '@privatemode/service'
import { endWithParent } from '@privatemode/service/end-with-parent'
import { claimHome } from './claim-home.ts'
import { Home } from './home.ts'
import { parseSettings } from './settings.ts'
import { startStack, stopOrder } from './stack.ts'
import { Supervisor } from './supervisor.ts'

const drainMs = 40_000
const say = (line: string) => process.stdout.write(`${line}\n`)

endWithParent()
try {
  const parsed = parseSettings({ args: process.argv.slice(2), env: process.env })
  if (parsed.kind === 'text') {
    process.stdout.write(parsed.text)
    process.exit(0)
  }
  const { settings } = parsed
  const home = new Home(settings.home)
  const release = claimHome(home, `http://127.0.0.1:${settings.ports.proxy}/v1`)
  process.on('exit', release)
  const supervisor = new Supervisor({ logDir: home.at('logs'), say })
  const stopping = new AbortController()
  let ready = false
  onShutdown({
    limitMs: 90_000,
    async stop() {
      stopping.abort()
      say(
        ready
          ? '\nStopping: waiting for running requests; press Ctrl-C again to abort them …'
          : '\nStopping before everything is ready; the next start continues from here …',
      )
      await starting.catch(() => {})
      await supervisor.stop(stopOrder, drainMs)
      say('Stopped. Nothing is left running.')
    },
    exit(code) {
      if (code === 0) process.exit(0)
      void supervisor.kill().then(() => {
        say('Stopped without waiting for running requests. Nothing is left running.')
        process.exit(code)
      })
    },
  })
  const starting = startStack(settings, { home, supervisor, say, signal: stopping.signal })
  try {
    await starting
    ready = true
  } catch (error) {
    // After a signal, the shutdown above determines the outcome.
    if (!stopping.signal.aborted) {
      await supervisor.stop(stopOrder, drainMs)
      throw error
    }
  }
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : 'the start failed'}\n`)
  process.exit(1)
}
