/** Models of a server that are bound to verity volumes. */
import { expect, test } from 'bun:test'
import { thrown } from '../../../../test/rejection.ts'
import { closeAfterEach, connectTo, serve } from '../testing/connected-engine.ts'

closeAfterEach()

const root = 'ab'.repeat(32)
const bound = (id: string) => ({ id, path: `/weights/${id}`, verityRoot: root, contextLength: 77 })

/** A server with models a and b, whose weights are on a volume with that root hash. */
const connect = (served: readonly object[], volume = root) =>
  connectTo(
    serve({ models: ['a', 'b'] }).url,
    { served: served as [] },
    {
      now: () => new Date(),
      readRoot: async () => volume,
    },
  )

test('each model is stated with the root hash of its volume', async () => {
  const models = (await connect([bound('b'), bound('a')])).models()
  expect(models.map(({ digest, contextLength }) => [digest, contextLength])).toEqual([
    [root, 77],
    [root, 77],
  ])
})

test('a server whose models are not exactly those listed is refused', async () => {
  expect(await thrown(connect([bound('a')]))).toThrow('serves b, which is not listed')
  const more = ['a', 'b', 'c'].map(bound)
  expect(await thrown(connect(more))).toThrow('does not serve c')
  expect(await thrown(connect([...more, bound('a')]))).toThrow('a is listed twice')
})

test('a model without a root hash, or on another volume, is refused', async () => {
  const { verityRoot: _, ...unbound } = bound('b')
  expect(await thrown(connect([bound('a'), unbound]))).toThrow('b has no verity_root')
  const other = connect([bound('a'), bound('b')], 'cd'.repeat(32))
  expect(await thrown(other)).toThrow('/weights/a is not on a volume with the root hash abab')
})
