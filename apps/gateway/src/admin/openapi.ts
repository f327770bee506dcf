/** Generates the OpenAPI document of the admin API from its routes. */
import { fleetPaths } from '@privatemode/protocol/fleet'
import type { AdminRoute } from './admin-route.ts'
import { type FieldTable, modelPriceSchema, type Schema } from './fields.ts'
import { auditEventSchema } from './routes/audit-routes.ts'

export function formatOpenApi(routes: readonly AdminRoute[]): Schema {
  const paths: Record<string, Record<string, Schema>> = {}
  for (const route of routes) {
    const path = `${fleetPaths.admin}${route.path}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: formatOperation(route) }
  }
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
          : { content: { [route.answerType]: { schema: route.answer } } }),
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

const text = { type: 'string' }
const moment = { type: 'string', format: 'date-time' }
const maybe = (schema: Schema) => ({ anyOf: [schema, { type: 'null' }] })
const count = { type: 'integer' }
const object = (properties: Schema) => ({ type: 'object', properties })

const limits = object({
  requests_per_minute: maybe(count),
  tokens_per_minute: maybe(count),
  tokens_per_month: maybe(count),
  concurrent_streams: maybe(count),
})
const key = {
  id: text,
  account_id: text,
  name: text,
  prefix: text,
  created_by: maybe(text),
  created_at: moment,
  rotated_at: maybe(moment),
  expires_at: maybe(moment),
  latest_expiry: maybe(moment),
  revoked_at: maybe(moment),
  last_used_at: maybe(moment),
  limits,
}
const member = object({
  id: text,
  account_id: text,
  email: text,
  name: text,
  role: { type: 'string', enum: ['admin', 'member'] },
  operates: { type: 'boolean' },
  has_password: { type: 'boolean' },
  created_at: moment,
  disabled_at: maybe(moment),
})
const invitation = {
  id: text,
  account_id: text,
  role: { type: 'string', enum: ['admin', 'member'] },
  email: maybe(text),
  member_id: maybe(text),
  created_by: maybe(text),
  created_at: moment,
  expires_at: moment,
}
const tokens = { prompt_tokens: count, cached_tokens: count, completion_tokens: count }

const schemas: Schema = {
  Key: object(key),
  IssuedKey: object({ ...key, secret: text }),
  Account: object({
    id: text,
    name: text,
    operates: { type: 'boolean' },
    created_at: moment,
    disabled_at: maybe(moment),
    limits,
    member_limits: limits,
    member_key_days: maybe(count),
    email_domains: { type: 'array', items: text },
  }),
  Member: member,
  Session: object({ member, csrf_token: text }),
  Invitation: object(invitation),
  IssuedInvitation: object({ ...invitation, url: text }),
  AuditEvent: auditEventSchema,
  Worker: object({
    id: text,
    url: text,
    models: { type: 'array', items: text },
    capacity: count,
    active: count,
    draining: { type: 'boolean' },
    registered_at: moment,
    lease_until: moment,
  }),
  DrainEffect: object({ remaining: count, unserved_models: { type: 'array', items: text } }),
  UsageSum: object({
    time: maybe(moment),
    key_id: text,
    member_id: maybe(text),
    model: text,
    path: text,
    outcome: text,
    account_id: text,
    requests: count,
    ...tokens,
    duration_ms: count,
    up_to_300_ms: count,
    up_to_1_s: count,
    up_to_3_s: count,
    up_to_10_s: count,
    up_to_30_s: count,
    up_to_100_s: count,
    cost_micros: count,
  }),
  UsageRow: object({
    request_id: text,
    admission_id: text,
    started_at: moment,
    account_id: text,
    key_id: text,
    worker_id: text,
    model: text,
    path: text,
    outcome: { type: 'string', enum: ['complete', 'aborted', 'failed', 'lost'] },
    status: count,
    ...tokens,
    duration_ms: count,
    cost_micros: count,
  }),
  Prices: object({
    currency: maybe(text),
    models: { type: 'array', items: modelPriceSchema },
  }),
  Budget: object({
    subject_id: text,
    account_id: text,
    name: text,
    kind: { type: 'string', enum: ['account', 'key'] },
    budget_micros: maybe(count),
    spent_micros: count,
  }),
  Error: object({
    error: object({
      message: text,
      type: text,
      param: maybe(text),
      code: text,
      retryable: { type: 'boolean' },
    }),
  }),
}

const securitySchemes: Schema = {
  operator: { type: 'http', scheme: 'bearer', description: 'the admin token' },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-privatemode' },
  csrf: { type: 'apiKey', in: 'header', name: 'x-csrf-token' },
}
