/** Paths find their route, method and dialect. */
import { expect, test } from 'bun:test'
import { dialectOf, findRoute, routes } from './routes.ts'

test('every route of the table is found by its own method and path', () => {
  for (const route of routes)
    expect(findRoute(route.method, route.path.replace('{id}', 'm'))).toMatchObject({ route })
})

test('check 31: a model id may have slashes, raw and encoded', () => {
  for (const path of ['/v1/models/org/m-1', '/v1/models/org%2Fm-1'])
    expect(findRoute('GET', path)).toMatchObject({ kind: 'found', modelId: 'org/m-1' })
  for (const path of ['/v1/models/', '/v1/models/%E0%A4%A'])
    expect(findRoute('GET', path).kind).toBe('unknown')
})

test('check 07: a wrong method is refused with the allowed ones', () => {
  expect(findRoute('GET', '/v1/messages')).toEqual({
    kind: 'wrong_method',
    dialect: 'anthropic',
    allow: 'POST',
  })
  expect(findRoute('POST', '/v1/models')).toMatchObject({ allow: 'GET, HEAD' })
  expect(findRoute('HEAD', '/v1/models').kind).toBe('found')
})

test('check 06: an unknown path has a dialect too', () => {
  expect(findRoute('POST', '/v1/messages/batches')).toEqual({
    kind: 'unknown',
    dialect: 'anthropic',
  })
  expect(findRoute('POST', '/v2/x')).toEqual({ kind: 'unknown', dialect: 'openai' })
  expect(dialectOf('/v1/messagesx')).toBe('openai')
})

test('only legacy completions are deprecated', () => {
  expect(routes.filter((route) => route.deprecated).map((route) => route.path)).toEqual([
    '/v1/completions',
  ])
})
