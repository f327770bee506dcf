/** Attacks on billing, on a separate system; `npm run task -- hostile` shows their figures. */
import { expect, test } from 'bun:test'
import { billTricks } from './bill-tricks.ts'

test.each(billTricks.map((trick) => [trick.name, trick] as const))(
  'what a client uses is billed, whatever it tries: %s',
  async (_name, trick) => {
    expect((await trick.play()).problems).toEqual([])
  },
  120_000,
)
