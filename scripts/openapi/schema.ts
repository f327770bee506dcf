/** Shorthands for JSON Schema, so that the schemas read like tables. */

export type Schema = { readonly [keyword: string]: unknown }

export const text: Schema = { type: 'string' }
export const flag: Schema = { type: 'boolean' }
export const number: Schema = { type: 'number' }
export const integer: Schema = { type: 'integer' }
export const count: Schema = { type: 'integer', minimum: 0 }
export const anything: Schema = {}
export const openObject: Schema = { type: 'object' }

export const constant = (value: string): Schema => ({ const: value })
export const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
export const range = (minimum: number, maximum: number): Schema => ({
  type: 'number',
  minimum,
  maximum,
})
export const listOf = (items: Schema): Schema => ({ type: 'array', items })
export const anyOf = (...schemas: readonly Schema[]): Schema => ({ anyOf: schemas })
export const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
export const about = (description: string, schema: Schema): Schema => ({ ...schema, description })

/** An object of named fields; a name that ends with `?` is optional, and other fields are allowed. */
export function fields(table: Readonly<Record<string, Schema>>): Schema {
  const entries = Object.entries(table)
  const required = entries.map(([name]) => name).filter((name) => !name.endsWith('?'))
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema]),
    ),
    ...(required.length === 0 ? {} : { required }),
  }
}
