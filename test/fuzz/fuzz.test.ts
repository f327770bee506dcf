/** A short run of every target with its corpus; the long one, guided by coverage, is `npm run task -- fuzz`. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { thrown } from '../rejection.ts'
import { readCorpus } from './corpus.ts'
import { fuzz } from './fuzzer.ts'
import { type FuzzTarget, json, text } from './target.ts'
import { targets } from './targets.ts'

const folder = join(import.meta.dir, 'corpus')
const limits = { inputs: 1500, seed: 20260101, maxMs: 5_000 }

test.each(targets.map((target) => [target.name, target] as const))(
  'mutated input is parsed or refused with a typed error: %s',
  async (name, target) => {
    const { inputs } = await fuzz(target, readCorpus(folder, name), limits)
    expect(inputs).toBe(limits.inputs)
  },
  240_000,
)

test('a parser that breaks is found', async () => {
  const breaks: FuzzTarget = {
    name: 'broken',
    seeds: [text('abcdefgh')],
    read(bytes) {
      if (bytes[0] !== 0x61) throw new TypeError('cannot read')
    },
  }
  expect(await thrown(fuzz(breaks, [], limits))).toThrow(/broken: threw TypeError: cannot read/)
})

test('a check behind the JSON parser that breaks is found', async () => {
  const breaks: FuzzTarget = {
    name: 'broken behind JSON',
    seeds: [json({ messages: [{ role: 'user', content: 'x'.repeat(2000) }] })],
    read(bytes) {
      let body: { messages: unknown } | null
      try {
        body = JSON.parse(new TextDecoder().decode(bytes))
      } catch {
        return
      }
      if (body?.messages === null) throw new TypeError('cannot read null')
    },
  }
  expect(await thrown(fuzz(breaks, [], limits))).toThrow(/threw TypeError: cannot read null/)
})

test('a promise that fails without a typed error is found', async () => {
  const read = async (bytes: Uint8Array) => {
    if (bytes[0] !== 0x61) throw new RangeError('out of range')
  }
  const breaks: FuzzTarget = { name: 'late', seeds: [text('abcdefgh')], read }
  expect(await thrown(fuzz(breaks, [], limits))).toThrow(/late: threw RangeError/)
})
