/** A complete JSON Schema: resolves its references and merges allOf. */
import { EngineError, type JsonObject } from '../../engine.ts'

export const maxDepth = 64
const maxPointerChars = 1024

export class SchemaRoot {
  readonly #root: unknown
  readonly #countParts: (parts: number) => void

  /** `countParts` throws if too much of the schema was read or copied. */
  constructor(root: unknown, countParts: (parts: number) => void) {
    this.#root = root
    this.#countParts = countParts
  }

  /** Follows a JSON pointer inside this schema (RFC 6901); nothing is ever fetched. */
  resolve(pointer: string): unknown {
    if (pointer !== '#' && !pointer.startsWith('#/'))
      throw invalidSchema('a $ref points outside the schema')
    if (pointer.length > maxPointerChars) throw invalidSchema('a $ref is too long')
    let at: unknown = this.#root
    for (const part of pointer.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      at = isObject(at) && Object.hasOwn(at, name) ? at[name] : asList(at)[indexOf(name)]
    }
    if (at === undefined) throw invalidSchema('a $ref points to nothing')
    return at
  }

  /** Merges all parts: properties and required accumulate; for other keywords the last one applies. */
  merge(schema: JsonObject, depth = 0): JsonObject {
    if (depth > maxDepth) throw invalidSchema(`it is nested deeper than ${maxDepth} levels`)
    const { allOf, ...base } = schema
    if (!Array.isArray(allOf) || allOf.length === 0) throw invalidSchema('allOf must be a list')
    const whole: JsonObject = { ...base }
    this.#countParts(Object.keys(base).length)
    for (const part of allOf) {
      const read = this.#read(part, depth)
      this.#countParts(1 + sizeOf(whole) + sizeOf(read))
      const properties = { ...asObject(whole.properties), ...asObject(read.properties) }
      const required = [...asList(whole.required), ...asList(read.required)]
      Object.assign(whole, read)
      if (Object.keys(properties).length > 0) Object.assign(whole, { properties, required })
    }
    return whole
  }

  #read(part: unknown, depth: number): JsonObject {
    let read = part
    for (let hops = 0; isObject(read) && typeof read.$ref === 'string'; hops++) {
      if (hops > maxDepth) throw invalidSchema('a $ref points to itself')
      read = this.resolve(read.$ref)
    }
    if (!isObject(read)) throw invalidSchema('allOf must list objects')
    return read.allOf === undefined ? read : this.merge(read, depth + 1)
  }
}

/** An array index has one representation (RFC 6901, section 4). */
const indexOf = (name: string): number => (/^(?:0|[1-9]\d{0,8})$/.test(name) ? Number(name) : -1)

/** How much a merge copies of a schema. */
const sizeOf = (schema: JsonObject): number =>
  Object.keys(schema).length +
  Object.keys(asObject(schema.properties)).length +
  asList(schema.required).length

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The message states what is wrong but quotes nothing: a schema is part of the prompt. */
export const invalidSchema = (why: string): EngineError =>
  new EngineError('invalid_value', `the JSON schema is not valid: ${why}`)
