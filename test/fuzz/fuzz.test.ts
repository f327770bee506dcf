/** A short run of every target with its corpus; the long one, guided by coverage, is `npm run fuzz`. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readCorpus } from './corpus.ts'
import { fuzz } from './fuzzer.ts'
import { type FuzzTarget, text } from './target.ts'
import { targets } from './targets.ts'

const folder = join(import.meta.dir, 'corpus')
const limits = { inputs: 1500, seed: 20260101, maxMs: 5_000 }

test.each(targets.map((target) => [target.name, target] as const))(
  'damaged input is read or refused with a typed error: %s',
  (name, target) => {
    expect(fuzz(target, readCorpus(folder, name), limits).inputs).toBe(limits.inputs)
  },
  60_000,
)

test('a parser that breaks is found', () => {
  const breaks: FuzzTarget = {
    name: 'broken',
    seeds: [text('abcdefgh')],
    read(bytes) {
      if (bytes[0] !== 0x61) throw new TypeError('cannot read')
    },
  }
  expect(() => fuzz(breaks, [], limits)).toThrow(/broken: threw TypeError: cannot read/)
})
