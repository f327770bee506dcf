/** Every value of the backend's chart, rendered with the real helm, has the documented effect. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { backendEffects } from './backend-effects.ts'
import { backend } from './backend-values.ts'
import { type Effect, leaves, merge } from './effects.ts'
import { gatewayEffects } from './gateway-effects.ts'
import {
  chartFolder,
  render,
  renderObjects,
  type Values,
  withoutHelm,
  withValue,
} from './render.ts'
import { workerEffects, workerWith } from './worker-effects.ts'

const chart = chartFolder('backend')
const effects: { readonly [path: string]: Effect } = { ...backendEffects, ...gatewayEffects }

/** The value with it holds; without it, the chart either is refused or does not hold. */
function expectEffect(before: Values, after: Values, holds: Effect['holds']): void {
  expect(holds(renderObjects(chart, after))).toBe(true)
  const rendered = render(chart, before)
  if (rendered.kind === 'objects') expect(didHold(holds, rendered.objects)).toBe(false)
}

/** What looks into an object that is not there does not hold. */
function didHold(holds: Effect['holds'], objects: Parameters<Effect['holds']>[0]): boolean {
  try {
    return holds(objects)
  } catch {
    return false
  }
}

unlessMissing(withoutHelm).describe('every value of the backend’s chart has its effect', () => {
  for (const [path, { over = backend, and = {}, value, holds }] of Object.entries(effects)) {
    test(path, () => {
      const base = merge(over, and)
      expectEffect(base, withValue(base, path, value), holds)
    })
  }

  test('no value of values.yaml is missing from this list', () => {
    const defaults = Bun.YAML.parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))
    const paths = leaves(
      defaults as Values,
      ['gateway', 'migrations', 'manifestHost', 'manifestRefresh'].map(
        (part) => `${part}.resources`,
      ),
    )
    expect(paths.sort()).toEqual(Object.keys(effects).sort())
  })
})

unlessMissing(withoutHelm).describe('every value of a worker has its effect', () => {
  for (const [name, { and = {}, value, holds }] of Object.entries(workerEffects)) {
    test(name, () => {
      const before = { ...backend, workers: [workerWith(and)] }
      const after = { ...backend, workers: [workerWith({ ...and, [name]: value })] }
      expectEffect(before, after, holds)
    })
  }

  test('no value of the schema is missing from this list', () => {
    const { properties } = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'))
    const names = Object.keys(properties.workers.items.properties)
    expect(names.sort()).toEqual(Object.keys(workerEffects).sort())
  })
})
