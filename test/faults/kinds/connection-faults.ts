/** Connections that are cut, half open, slow, refused, or deliver different bytes than were sent. */
import type { Fault } from '../fault.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Link, Weather } from '../fleet/link.ts'

type Place = { readonly words: string; links(fleet: Fleet): readonly Link[] }

const front: Place = { words: 'to the gateways', links: (fleet) => [fleet.front] }
const backs: Place = { words: 'to the workers', links: (fleet) => fleet.backs }
const database: Place = { words: 'to PostgreSQL', links: (fleet) => [fleet.database] }
const engine: Place = { words: 'to the model server', links: (fleet) => [fleet.engine] }

function cut({ words, links }: Place): Fault {
  return {
    name: `cut all connections ${words}, five times`,
    family: 'connection',
    holdMs: 0,
    limitMs: 20_000,
    async inject({ fleet, chance, note }) {
      let count = 0
      for (let round = 0; round < 5; round++) {
        for (const link of links(fleet)) count += link.cut()
        await Bun.sleep(chance.between(200, 700))
      }
      note(`${count} connections`)
      return () => {}
    },
  }
}

function halfOpen({ words, links }: Place): Fault {
  return {
    name: `leave all connections ${words} half open`,
    family: 'connection',
    holdMs: 2_000,
    limitMs: 40_000,
    async inject({ fleet, note }) {
      const count = links(fleet).reduce((sum, link) => sum + link.leaveHalfOpen(), 0)
      note(`${count} connections`)
      // They stay that way: new connections work, and old ones never learn about it.
      return () => {}
    },
  }
}

function weather(what: string, { words, links }: Place, how: Weather, limitMs = 25_000): Fault {
  return {
    name: `${what} ${words}`,
    family: 'connection',
    holdMs: 5_000,
    limitMs,
    async inject({ fleet }) {
      for (const link of links(fleet)) link.set(how)
      return () => {
        for (const link of links(fleet)) link.clear()
      }
    },
  }
}

/** Usage reports are signed: a changed one is refused, and the gateway books it as lost. */
function flips({ words, links }: Place): Fault {
  const made = weather('flip bits on the way', { words, links }, { flip: 0.05 })
  const flipped = (fleet: Fleet) => links(fleet).reduce((sum, link) => sum + link.flipped, 0)
  return {
    ...made,
    mayLoseReports: true,
    async inject(scene) {
      const before = flipped(scene.fleet)
      const undo = await made.inject(scene)
      return async () => {
        await undo()
        scene.note(`${flipped(scene.fleet) - before} bits`)
      }
    },
  }
}

const slow: Weather = { delayMs: 100, jitterMs: 100, bytesPerSecond: 50_000 }

export const connectionFaults: readonly Fault[] = [
  ...[front, backs, database, engine].map(cut),
  ...[front, backs, database].map(halfOpen),
  ...[front, backs, database].map((place) =>
    weather('swallow everything', place, { swallow: true }, 40_000),
  ),
  ...[front, database].map((place) => weather('refuse connections', place, { refuse: true })),
  ...[front, backs, engine].map((place) => weather('slow down everything', place, slow)),
  ...[front, backs].map(flips),
]
