/** JSON Schemas that the compiler also knows as types: a shape is written once, for code and for documents. */

export type Schema = { readonly [keyword: string]: unknown }

declare const shape: unique symbol
/** The schema of a `T`. The symbol exists for the compiler only. */
export type SchemaOf<T> = Schema & { readonly [shape]?: T }
/** What a schema describes. */
export type Described<S> = S extends SchemaOf<infer T> ? T : never

type Properties = { readonly [name: string]: SchemaOf<unknown> }
type DescribedProperties<P extends Properties> = { readonly [Name in keyof P]: Described<P[Name]> }

export const text: SchemaOf<string> = { type: 'string' }
/** ISO 8601. */
export const moment: SchemaOf<string> = { type: 'string', format: 'date-time' }
export const count: SchemaOf<number> = { type: 'integer' }
export const truth: SchemaOf<boolean> = { type: 'boolean' }
/** An object of any members. */
export const anything: SchemaOf<Readonly<Record<string, unknown>>> = { type: 'object' }

export function choice<const Value extends string>(...values: readonly Value[]): SchemaOf<Value> {
  return { type: 'string', enum: values }
}

export function nullable<T>(schema: SchemaOf<T>): SchemaOf<T | null> {
  return { anyOf: [schema, { type: 'null' }] }
}

export function either<A, B>(first: SchemaOf<A>, second: SchemaOf<B>): SchemaOf<A | B> {
  return { anyOf: [first, second] }
}

export function list<T>(items: SchemaOf<T>): SchemaOf<readonly T[]> {
  return { type: 'array', items }
}

export function object<
  const Required extends Properties,
  const Optional extends Properties = Record<never, never>,
>(
  required: Required,
  optional?: Optional,
): SchemaOf<DescribedProperties<Required> & Partial<DescribedProperties<Optional>>> {
  const properties = { ...required, ...optional }
  return { type: 'object', properties, required: Object.keys(required) }
}

export function described<T>(schema: SchemaOf<T>, description: string): SchemaOf<T> {
  return { ...schema, description }
}
