/** Hostile clients against the real programs; the long form with figures is `npm run task -- hostile`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ClientStack, startLimitMs } from '../clients/client-stack.ts'
import { attacks } from './attacks.ts'
import { onceTricks } from './once-tricks.ts'
import { People, peopleTricks } from './people-tricks.ts'
import { type Target, type TargetName, targetsOf } from './target.ts'
import { tryOnce } from './try-once.ts'
import { withstand } from './withstand.ts'

const place = new ClientStack()
let targets: Target[] = []

beforeAll(async () => {
  await place.start()
  targets = targetsOf(place)
}, startLimitMs)
afterAll(() => place.stop(), 60_000)

const doors: readonly TargetName[] = ['proxy', 'proxyless', 'gateway']
const find = (name: TargetName) => targets.find((target) => target.name === name)!

describe.each(doors)('a hostile client of the %s', (name) => {
  test.each([...new Set(onceTricks.map(({ group }) => group))])(
    'gets a clear error and nothing else for its %s',
    async (group) => {
      const tried = onceTricks.filter((trick) => trick.group === group)
      for (const trick of tried.filter(({ against }) => against?.includes(name) ?? true)) {
        const { problems } = await tryOnce(place, trick, find(name))
        expect([trick.name, problems]).toEqual([trick.name, []])
      }
    },
    240_000,
  )
})

test.each(peopleTricks)(
  '$name: in vain',
  async ({ play }) => {
    expect((await play(new People(place))).problems).toEqual([])
  },
  120_000,
)

// Small and short, and lenient about times, because the machine may be busy.
const limits = { scale: 0.05, seconds: 1, baselineAnswers: 10, floorMs: 10_000, grownMiB: 600 }
const few: readonly [string, TargetName][] = [
  ['bodies a byte at a time', 'proxyless'],
  ['idle streams', 'proxy'],
  ['keys guessed', 'gateway'],
  ['sealed records of one byte', 'gateway'],
]
test.each(few)(
  'others are served while a client keeps up %s at the %s',
  async (attack, name) => {
    const found = attacks.find((one) => one.name === attack)!
    expect((await withstand(place, found, find(name), limits)).problems).toEqual([])
  },
  240_000,
)
