import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { findAdminRoute } from './admin-router.ts'
import { adminOpenApi, adminRoutes } from './admin-routes.ts'

const document = adminOpenApi() as {
  paths: Record<string, Record<string, { operationId: string; security: unknown[] }>>
  components: { schemas: Record<string, unknown> }
}

test('the published document matches the routes', () => {
  const path = `${import.meta.dir}/../../../../docs/admin-openapi.json`
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(JSON.parse(JSON.stringify(document)))
})

test('every documented operation has a route and a name of its own', () => {
  const names = new Set<string>()
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const sample = path.replace('/privatemode/v1/admin', '').replace(/\{\w+\}/g, 'x1')
      expect(findAdminRoute(method.toUpperCase(), sample).route.summary).not.toBe('')
      expect(names.has(operation.operationId)).toBe(false)
      names.add(operation.operationId)
    }
  }
  expect(names.size).toBe(adminRoutes.length)
})

test('every referenced schema exists', () => {
  for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    expect(document.components.schemas).toHaveProperty(name ?? '')
  }
})

test('only signing in is open to everyone', () => {
  const open = adminRoutes.filter((route) => route.access === 'anyone').map((route) => route.path)
  expect(open.toSorted()).toEqual([
    '/invitations/accept',
    '/oidc/callback',
    '/oidc/start',
    '/openapi.json',
    '/session',
    '/sign-in',
  ])
})
