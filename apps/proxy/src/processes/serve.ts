/**
 * A serving process: gets its settings from the supervisor, then verifies and serves like a single
 * proxy.
 */
import { createLog, createOutbound } from '@privatemode/service'
import { startProxy } from '../proxy.ts'
import { backendIdleMs } from '../serve-alone.ts'
import { connect } from '../trust/connect.ts'
import { Channel } from './channel.ts'
import { toFailure } from './failure.ts'
import { receiveSettings } from './handed-settings.ts'
import { borrowManifest } from './lent-manifest.ts'
import type { ToServing, ToSupervisor } from './questions.ts'

const answerWithinMs = 10_000
const jointWithinMs = 3_000

export async function serveForSupervisor(): Promise<void> {
  let proxy: ReturnType<typeof startProxy> | undefined
  let ending: Promise<void> | undefined
  /** Drains once, however often it is asked: terminals and service managers signal every process. */
  const end = () => {
    ending ??= (proxy?.stop() ?? Promise.resolve()).finally(() => process.exit(0))
    return ending
  }
  const channel = new Channel<ToSupervisor, ToServing>((message) => void process.send?.(message), {
    async report() {
      if (proxy === undefined) throw new Error('not serving yet')
      return proxy.report()
    },
    async stop() {
      void end()
      return null
    },
  })
  process.on('message', (message) => channel.receive(message))
  process.on('disconnect', () => {
    channel.close()
    void end() // without a supervisor nothing would stop it
  })
  process.on('SIGTERM', () => void end())
  process.on('SIGINT', () => void end())
  process.on('SIGHUP', () => void end())

  try {
    const settings = receiveSettings(await channel.ask('settings', null, answerWithinMs))
    const log = createLog({ ...settings.log, sharedOutput: true })
    process.on('exit', () => log.flush())
    const outbound = createOutbound({ env: process.env, idleTimeoutMs: backendIdleMs })
    const source = borrowManifest(channel, settings.manifest.kind === 'file')
    const client = await connect({ settings, source, fetch: outbound.fetch, log })
    const joint = {
      report: () => channel.ask('joint', null, jointWithinMs),
      ready: () => void channel.ask('ready', null, answerWithinMs).catch(() => {}),
    }
    proxy = startProxy(settings, { client, outbound, env: process.env, log, joint })
    await channel.ask('listening', { url: proxy.url }, answerWithinMs)
  } catch (error) {
    await channel.ask('refused', toFailure(error), answerWithinMs).catch(() => {})
    process.exit(2)
  }
}
