import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import {
  behavesAsExpected,
  checkMutant,
  checkReachable,
  checkWhole,
  missingTools,
} from './check-model.ts'
import { mutants } from './mutants.ts'

const missing = missingTools()
const needed = missing.length === 0 ? undefined : `${missing.join(' and ')} not installed`
const few = ['NO_COUNTER']

test('every mutant omits something that its model contains', () => {
  for (const { model, without } of mutants) {
    const files = model === 'session' ? ['session.pml', 'session-keys.pml'] : [`${model}.pml`]
    const source = files.map((file) => readFileSync(join(import.meta.dir, file), 'utf8')).join('')
    for (const name of without) expect(source).toContain(`#ifdef ${name}\n`)
  }
})

// All mutants: npm run task -- model.
unlessMissing(needed).describe('the model of the protocol', () => {
  test('has every property in every state, and exchanges come to their end in it', async () => {
    expect(await checkWhole('session')).toMatchObject({ violated: false })
    expect(await checkReachable('session')).toMatchObject({ violated: true })
  }, 120_000)

  for (const mutant of mutants.filter(({ without }) => few.includes(without.join()))) {
    test(`is broken where ${mutant.means}`, async () => {
      expect(behavesAsExpected(mutant, await checkMutant(mutant))).toBe(true)
    }, 120_000)
  }
})
