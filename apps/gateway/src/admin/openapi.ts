/** Generates the OpenAPI document of the admin API from its routes. */
import { adminBase, adminSchemas, type Schema } from '@privatemode/protocol/fleet'
import type { AdminRoute } from './admin-route.ts'
import type { FieldTable } from './fields.ts'

export function formatOpenApi(routes: readonly AdminRoute[]): Schema {
  const paths: Record<string, Record<string, Schema>> = {}
  for (const route of routes) {
    const path = `${adminBase}${route.path}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: formatOperation(route) }
  }
  const schemas = Object.fromEntries(
    Object.entries(adminSchemas).map(([name, schema]) => [name, definition(schema)]),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Privatemode gateway: admin API',
      version: '1',
      description:
        'Keys, accounts, members, invitations, usage, prices, budgets, workers and the audit log. Shells send the admin token; pages have a session cookie and send its CSRF token with every change.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: { schemas, securitySchemes },
  }
}

function formatOperation(route: AdminRoute): Schema {
  const name = `${route.method} ${route.path}`.toLowerCase().replace(/[^a-z0-9]+/g, '_')
  return {
    operationId: name.replace(/_$/, ''),
    summary: route.summary,
    security: route.access === 'anyone' ? [] : [{ operator: [] }, { session: [], csrf: [] }],
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body === undefined ? {} : { requestBody: formatBody(route.body) }),
    responses: {
      [String(route.status)]: {
        description: route.status === 302 ? 'Elsewhere' : 'Done',
        ...(route.status === 302
          ? {}
          : { content: { [route.answerType]: { schema: withReferences(route.answer) } } }),
      },
      default: {
        description: 'Refused or failed',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

function pathParameters(path: string): Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: FieldTable): Schema[] {
  return Object.entries(query).map(([name, { required, schema }]) => ({
    name,
    in: 'query',
    required,
    schema,
  }))
}

function formatBody(body: FieldTable): Schema {
  const fields = Object.entries(body)
  return {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
          required: fields.filter(([, field]) => field.required).map(([name]) => name),
          additionalProperties: false,
        },
      },
    },
  }
}

/** Named schemas become references to their definition. */
function withReferences(schema: unknown): unknown {
  const name = schemaNames.get(schema)
  return name === undefined ? definition(schema) : { $ref: `#/components/schemas/${name}` }
}

function definition(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withReferences)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, withReferences(value)]),
  )
}

const schemaNames = new Map<unknown, string>(
  Object.entries(adminSchemas).map(([name, schema]) => [schema, name]),
)

const securitySchemes: Schema = {
  operator: { type: 'http', scheme: 'bearer', description: 'the admin token' },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-privatemode' },
  csrf: { type: 'apiKey', in: 'header', name: 'x-csrf-token' },
}
