/** No text of a gateway reaches an application; `npm run task -- hostile` shows the attacks as a table. */
import { afterAll, expect, test } from 'bun:test'
import { gatewayWords } from './gateway-words.ts'
import { startHostileWorld } from './hostile-world.ts'

const world = await startHostileWorld()
afterAll(world.stop, 90_000)

test.each(gatewayWords.map((trick) => [trick.name, trick] as const))(
  'a gateway that %s says nothing to applications',
  async (_name, trick) => {
    const { told, problems } = await trick.play(world)
    expect(problems).toEqual([])
    expect(told.length).toBeGreaterThan(0)
  },
)
