/** Processes that die silently, hang, or are restarted. */
import type { Fault, Scene } from '../fault.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Part } from '../fleet/part.ts'

type Choose = (fleet: Fleet, scene: Scene) => readonly Part[]

const oneOf =
  (pick: (fleet: Fleet) => readonly Part[]): Choose =>
  (fleet, { chance }) => [chance.pick(pick(fleet))]

function kill(what: string, choose: Choose, limitMs: number): Fault {
  return {
    name: `kill -9 ${what}`,
    family: 'process',
    holdMs: 3_000,
    limitMs,
    mayLoseReports: what.includes('worker'),
    async inject(scene) {
      const parts = choose(scene.fleet, scene)
      scene.note(parts.map(({ name }) => name).join(', '))
      await Promise.all(parts.map((part) => part.kill()))
      return async () => void (await Promise.all(parts.map((part) => part.start())))
    },
  }
}

function pause(what: string, choose: Choose, holdMs: number, neverSeen?: RegExp): Fault {
  return {
    ...(neverSeen === undefined ? {} : { neverSeen }),
    name: `pause ${what} for ${holdMs / 1000} s`,
    family: 'process',
    holdMs,
    limitMs: 20_000,
    async inject(scene) {
      const parts = choose(scene.fleet, scene)
      scene.note(parts.map(({ name }) => name).join(', '))
      for (const part of parts) part.pause()
      return () => {
        for (const part of parts) part.resume()
      }
    },
  }
}

const rollingRestart: Fault = {
  name: 'restart every worker and gateway in order, one after the other',
  family: 'process',
  holdMs: 0,
  limitMs: 20_000,
  async inject({ fleet }) {
    for (const part of [...fleet.workers, ...fleet.gateways]) {
      await part.end(35_000)
      await part.start()
      // As a deployment does: the next one goes when all have discovered this one.
      await Bun.sleep(3_000)
    }
    return () => {}
  },
}

export const processFaults: readonly Fault[] = [
  kill('the proxy', (fleet) => [fleet.proxy], 20_000),
  kill(
    'one gateway',
    oneOf((fleet) => fleet.gateways),
    20_000,
  ),
  kill('all gateways', (fleet) => fleet.gateways, 20_000),
  kill(
    'one worker',
    oneOf((fleet) => fleet.workers),
    20_000,
  ),
  kill('all workers', (fleet) => fleet.workers, 25_000),
  kill('the model server', (fleet) => [fleet.model], 20_000),
  pause('the proxy', (fleet) => [fleet.proxy], 4_000),
  pause(
    'one gateway',
    oneOf((fleet) => fleet.gateways),
    4_000,
  ),
  pause(
    'one worker',
    oneOf((fleet) => fleet.workers),
    9_000,
  ),
  // Longer than clients wait: a client with a request there must have received an error before.
  pause(
    'one worker',
    oneOf((fleet) => fleet.workers),
    20_000,
    /timeout/,
  ),
  pause('the model server', (fleet) => [fleet.model], 4_000),
  rollingRestart,
]
