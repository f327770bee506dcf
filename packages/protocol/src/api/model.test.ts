/** Model objects serve both dialects, and untrusted ones are checked. */
import { expect, test } from 'bun:test'
import { findModel, formatModel, formatModelList, parseModel, resolveLatest } from './model.ts'

const facts = {
  id: 'org/m',
  created: 1_700_000_000,
  displayName: 'M',
  tasks: ['generate'] as const,
}

test('check 29: a list has the fields of both dialects', () => {
  const list = formatModelList([formatModel(facts), formatModel({ ...facts, id: 'n' })])
  expect(list).toMatchObject({ object: 'list', has_more: false, first_id: 'org/m', last_id: 'n' })
  expect(list.data[0]).toEqual({
    id: 'org/m',
    object: 'model',
    created: 1_700_000_000,
    owned_by: 'privatemode',
    type: 'model',
    display_name: 'M',
    created_at: '2023-11-14T22:13:20Z',
    tasks: ['generate'],
  })
  expect(formatModelList([])).toMatchObject({ first_id: null, last_id: null })
})

test('a model object from a directory round-trips or is refused', () => {
  const model = formatModel({ ...facts, contextLength: 2048 })
  expect(parseModel(JSON.parse(JSON.stringify(model)))).toEqual(model)
  const sees = { ...model, input_modalities: ['text', 'image'] as const }
  expect(parseModel(JSON.parse(JSON.stringify(sees)))).toEqual(sees)
  const claimed = parseModel({ ...model, input_modalities: ['text', 'smell', 7] })
  expect(claimed?.input_modalities).toEqual(['text'])
  for (const wrong of [
    null,
    'm',
    { ...model, id: '' },
    { ...model, created: 1.5 },
    { ...model, created: Number.MAX_SAFE_INTEGER },
    { ...model, tasks: [] },
    { ...model, tasks: ['fly'] },
  ])
    expect(parseModel(wrong)).toBeUndefined()
})

test('a name without a tag also finds the tag latest, and nothing else', () => {
  const models = ['tiny:latest', 'tiny:7b', 'both', 'both:latest', 'other:7b'].map((id) => ({ id }))
  const found = (name: string) => findModel(models, name)?.id
  expect(found('tiny')).toBe('tiny:latest')
  expect(found('tiny:latest')).toBe('tiny:latest')
  expect(found('tiny:7b')).toBe('tiny:7b')
  expect(found('both')).toBe('both')
  for (const name of ['other', 'tin', 'tiny:', 'tiny:latest:latest', '', 'Tiny'])
    expect(found(name)).toBeUndefined()
})

test('latest is the newest model of the task', () => {
  const models = [
    { ...facts, id: 'b', created: 2 },
    { ...facts, id: 'a', created: 2 },
    { ...facts, id: 'old', created: 1 },
    { ...facts, id: 'e', created: 9, tasks: ['embed'] as const },
  ]
  expect(resolveLatest(models, 'generate')?.id).toBe('a')
  expect(resolveLatest(models, 'embed')?.id).toBe('e')
  expect(resolveLatest([], 'embed')).toBeUndefined()
})
