/** Compares answers of the admin API with its OpenAPI document: every test that asks it is also a test of that. */
import { adminBase } from '@privatemode/protocol/fleet'
import { findAdminRoute } from '../admin/admin-router.ts'
import { adminOpenApi } from '../admin/admin-routes.ts'

type Schema = {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}
type Content = { readonly content?: { readonly 'application/json'?: { readonly schema: Schema } } }
type Document = {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Content> }>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const document = adminOpenApi() as Document

/** Throws an error that names the first member that the document does not have so. `path` follows `admin/`. */
export function checkDocumented(
  method: string,
  path: string,
  status: number,
  answer: unknown,
): void {
  const { route } = findAdminRoute(method, `/${path.split('?')[0]}`)
  const { responses } = document.paths[`${adminBase}${route.path}`]?.[method.toLowerCase()] ?? {
    responses: {},
  }
  const response = responses[String(status)] ?? responses.default
  const schema = response?.content?.['application/json']?.schema
  const problem = schema && findProblem(answer, schema, 'the answer')
  if (problem !== undefined) throw new Error(`${method} ${path}, ${status}: ${problem}`)
}

function findProblem(value: unknown, schema: Schema, name: string): string | undefined {
  if (schema.$ref !== undefined) {
    const found = document.components.schemas[schema.$ref.split('/').at(-1) ?? '']
    return found === undefined ? `${schema.$ref} is missing` : findProblem(value, found, name)
  }
  if (schema.anyOf !== undefined) {
    const problems = schema.anyOf.map((each) => findProblem(value, each, name))
    return problems.includes(undefined) ? undefined : problems[0]
  }
  if (typeOf(value) !== schema.type) return `${name} is not ${schema.type}`
  if (schema.enum?.includes(value) === false) return `${name} is ${value}`
  if (Array.isArray(value)) return firstProblem(value.entries(), () => schema.items, name)
  if (typeof value !== 'object' || value === null || schema.properties === undefined) return
  const missing = schema.required?.find((each) => !Object.hasOwn(value, each))
  if (missing !== undefined) return `${name}.${missing} is missing`
  return firstProblem(Object.entries(value), (each) => schema.properties?.[each], name)
}

function firstProblem<Key extends string | number>(
  entries: Iterable<[Key, unknown]>,
  schemaOf: (key: Key) => Schema | undefined,
  name: string,
): string | undefined {
  for (const [key, value] of entries) {
    const schema = schemaOf(key)
    if (schema === undefined) return `${name}.${key} is not documented`
    const problem = findProblem(value, schema, `${name}.${key}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
