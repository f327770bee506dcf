import { expect, test } from 'bun:test'
import { unlessMissing } from '../../service/src/testing/conditional-tests.ts'
import { fuzzHttp } from './testing/http-fuzz/compare-with-node.ts'

const noNode = Bun.which('node') === null ? 'node is not installed' : undefined

test('damaged requests parse the same in one piece and in many', async () => {
  const { accepted } = await fuzzHttp({ inputs: 5_000, seed: 7, node: false })
  expect(accepted).toBeGreaterThan(1_000)
}, 240_000)

unlessMissing(noNode).test(
  'node:http parses every request that we accept as the same request',
  async () => {
    const { compared } = await fuzzHttp({ inputs: 2_000, seed: 8, node: true })
    expect(compared).toBeGreaterThan(400)
  },
  240_000,
)
