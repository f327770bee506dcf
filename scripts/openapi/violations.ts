/** Finds where a value violates a schema, for the subset of JSON Schema that the document uses. */
import type { Schema } from './schema.ts'

export type Schemas = Readonly<Record<string, Schema>>

/** Paths with the violated keyword; empty if the value conforms to the schema. */
export function findViolations(
  schemas: Schemas,
  given: Schema | undefined,
  value: unknown,
  at = '',
): string[] {
  const check = (schema: Schema, part: unknown, where: string) =>
    findViolations(schemas, schema, part, where)
  const name = typeof given?.$ref === 'string' ? given.$ref.split('/').at(-1) : undefined
  const schema = name === undefined ? given : schemas[name]
  if (schema === undefined) return [`${at}: no schema`]
  const found: string[] = []
  const type = typeof schema.type === 'string' ? schema.type : undefined
  if (type !== undefined && !hasType(type, value)) return [`${at}: ${type}`]
  if ('const' in schema && schema.const !== value) found.push(`${at}: const`)
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) found.push(`${at}: enum`)
  if (Array.isArray(schema.anyOf) && schema.anyOf.every((one) => check(one, value, at).length > 0))
    found.push(`${at}: anyOf`)
  if (typeof schema.minimum === 'number' && Number(value) < schema.minimum)
    found.push(`${at}: minimum`)
  if (type === 'array' && schema.items !== undefined)
    (value as unknown[]).forEach((item, i) => {
      found.push(...check(schema.items as Schema, item, `${at}.${i}`))
    })
  if (type === 'object') found.push(...ofObject(schema, value as Schema, at, check))
  return found
}

function ofObject(
  schema: Schema,
  value: Schema,
  at: string,
  check: (schema: Schema, part: unknown, where: string) => string[],
): string[] {
  const required = (schema.required as string[] | undefined) ?? []
  const properties = (schema.properties as Record<string, Schema> | undefined) ?? {}
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${at}.${name}: missing`),
    ...Object.entries(properties)
      .filter(([name]) => name in value)
      .flatMap(([name, one]) => check(one, value[name], `${at}.${name}`)),
  ]
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
  }
  return typeof value === type
}
