/** Turns a JSON Schema into grammar rules, so that a model cannot write anything else. */
import { EngineError, type JsonObject } from '../../engine.ts'
import { type GrammarBuilder, literal, repeat } from './gbnf.ts'
import { type FirstProperty, GrammarWidth, type Starts } from './grammar-width.ts'
import { integerRange } from './integer-range.ts'
import { numberRange } from './number-range.ts'
import { addOtherKeys } from './other-keys.ts'
import { addPattern } from './pattern-rule.ts'
import { count, integerBounds, nothingFits, numberBounds } from './schema-bounds.ts'
import { asList, asObject, invalidSchema, isObject, maxDepth, SchemaRoot } from './schema-root.ts'
import { formatRule } from './string-formats.ts'

const maxSchemaChars = 256 * 1024
/** JSON Schema has no more types. */
const maxTypes = 7
/** Keywords that restrict values in ways that no rule here enforces. */
const unenforced = [
  'not',
  'if',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'contains',
  'multipleOf',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
]

/**
 * Adds the rules of a schema and returns the name of the first. With `strict`, unenforceable
 * schemas are refused.
 */
export function addSchema(builder: GrammarBuilder, schema: unknown, strict: boolean): string {
  if ((JSON.stringify(schema) ?? '').length > maxSchemaChars)
    throw invalidSchema('it is larger than 256 KiB')
  const reader = new SchemaReader(builder, schema, strict)
  const name = reader.rule(schema, 0)
  reader.width.check()
  return name
}

class SchemaReader {
  readonly #builder: GrammarBuilder
  readonly #root: SchemaRoot
  readonly #strict: boolean
  readonly #references = new Map<string, string>()
  readonly width = new GrammarWidth()

  constructor(builder: GrammarBuilder, root: unknown, strict: boolean) {
    this.#builder = builder
    this.#root = new SchemaRoot(root, (parts) => builder.countParts(parts))
    this.#strict = strict
  }

  rule(schema: unknown, depth: number): string {
    if (depth > maxDepth) throw invalidSchema(`it is nested deeper than ${maxDepth} levels`)
    this.#builder.countParts(1)
    if (schema === true) return this.#builder.json('value')
    if (!isObject(schema)) throw invalidSchema('a schema must be an object or true')
    if (this.#strict) refuseUnenforced(schema)
    if (typeof schema.$ref === 'string') return this.#reference(schema.$ref, depth)
    if (schema.const !== undefined) return this.#values([schema.const])
    if (schema.enum !== undefined) return this.#enumeration(schema.enum)
    const options = schema.anyOf ?? schema.oneOf
    if (options !== undefined) return this.#union(schema, options, depth)
    if (schema.allOf !== undefined) return this.rule(this.#root.merge(schema), depth + 1)
    if (Array.isArray(schema.type)) {
      if (schema.type.length > maxTypes) throw invalidSchema('type lists more than there are')
      const kinds = schema.type.map((type: unknown) => ({ ...schema, type }))
      return this.#alternatives(kinds.map((kind) => this.rule(kind, depth + 1)))
    }
    return this.#typed(schema, schema.type ?? impliedType(schema), depth)
  }

  #typed(schema: JsonObject, type: unknown, depth: number): string {
    switch (type) {
      case undefined:
        return this.#builder.json('value')
      case 'object':
        return this.#object(schema, depth)
      case 'array':
        return this.#array(schema, depth)
      case 'string':
        return this.#noted(this.#string(schema), '"')
      case 'integer':
        return this.#noted(this.#builder.share(integerRange(...integerBounds(schema))), '0')
      case 'number':
        return this.#noted(this.#number(schema), '0')
      case 'boolean':
        return this.#noted(this.#builder.json(type), 'tf')
      case 'null':
        return this.#noted(this.#builder.json(type), 'n')
      default:
        throw invalidSchema(`it has an unknown type`)
    }
  }

  /** The name is reserved before the target is read, so that a schema may contain itself. */
  #reference(pointer: string, depth: number): string {
    const known = this.#references.get(pointer)
    if (known !== undefined) return known
    const name = this.#builder.reserve()
    this.#references.set(pointer, name)
    const target = this.rule(this.#root.resolve(pointer), depth + 1)
    if (target === name) throw invalidSchema('a $ref points to itself')
    this.#builder.define(name, target)
    this.width.noteReference(name, target)
    return name
  }

  #enumeration(values: unknown): string {
    if (!Array.isArray(values) || values.length === 0 || values.length > 1000)
      throw invalidSchema('enum must be a list of 1 to 1000 values')
    return this.#values(values)
  }

  #values(values: readonly unknown[]): string {
    const name = this.#builder.add(values.map(jsonLiteral).join(' | '))
    const starts = new Set(values.map((value) => startOf(JSON.stringify(value))))
    this.width.note(name, [...starts].join(''), [], values.length)
    return name
  }

  #noted(name: string, starts: Starts, inside: readonly string[] = []): string {
    this.width.note(name, starts, inside)
    return name
  }

  #union(schema: JsonObject, options: unknown, depth: number): string {
    if (!Array.isArray(options) || options.length === 0)
      throw invalidSchema('anyOf and oneOf must be lists')
    const { anyOf: _, oneOf: __, ...base } = schema
    const hasBase = Object.keys(base).some((key) =>
      ['properties', 'required', 'type', 'items'].includes(key),
    )
    return this.#alternatives(
      options.map((option) => {
        const whole = hasBase && isObject(option) ? { allOf: [base, option] } : option
        return this.rule(whole, depth + 1)
      }),
    )
  }

  #alternatives(names: readonly string[]): string {
    if (names.length === 1 && names[0]) return names[0]
    const name = this.#builder.add(names.join(' | '))
    this.width.noteUnion(name, names)
    return name
  }

  #object(schema: JsonObject, depth: number): string {
    const extra = schema.additionalProperties
    if (schema.properties === undefined && (extra === undefined || extra === true))
      return this.#noted(this.#builder.json('object'), '{')
    if (schema.properties !== undefined && !isObject(schema.properties))
      throw invalidSchema('properties must be an object')
    const ws = this.#builder.json('ws')
    const required = new Set(asList(schema.required))
    const properties = Object.entries(asObject(schema.properties)).map(([name, schema]) => {
      const value = this.rule(schema, depth + 1)
      const member = this.#builder.add(`${literal(JSON.stringify(name))} ":" ${ws} ${value}`)
      return { value, member, isRequired: required.has(name) }
    })
    for (const name of required)
      if (typeof name !== 'string' || !Object.hasOwn(asObject(schema.properties), name))
        throw invalidSchema('required names a property that properties lacks')
    let more = { first: '""', later: '""' }
    let other: string | undefined
    if (extra !== undefined && extra !== false) {
      other = this.rule(extra, depth + 1)
      const names = Object.keys(asObject(schema.properties))
      const key =
        names.length === 0 ? this.#builder.json('string') : addOtherKeys(this.#builder, names)
      const member = this.#builder.add(`${key} ":" ${ws} ${other}`)
      more = { first: `(${member} ("," ${ws} ${member})*)?`, later: `("," ${ws} ${member})*` }
    }
    // From the last to the first: each rule is what may follow, with and without a comma before it.
    for (const { member, isRequired } of properties.toReversed()) {
      const after = this.#builder.add(more.later)
      const skipped = isRequired ? undefined : this.#builder.add(more.first)
      const taken = `${member} ${after}`
      more = {
        first: skipped === undefined ? taken : `(${taken} | ${skipped})`,
        later: `("," ${ws} ${taken}${isRequired ? '' : ` | ${after}`})`,
      }
    }
    const name = this.#builder.add(`"{" ${ws} ${more.first} ${ws} "}"`)
    const values = properties.map(({ value }) => value)
    this.width.noteObject(name, values, other, firstProperty(schema, required))
    return name
  }

  #array(schema: JsonObject, depth: number): string {
    const ws = this.#builder.json('ws')
    const fixed = asList(schema.prefixItems).map((item) => this.rule(item, depth + 1))
    if (fixed.length > 0)
      return this.#noted(
        this.#builder.add(`"[" ${ws} ${fixed.join(` "," ${ws} `)} ${ws} "]"`),
        '[',
        fixed,
      )
    const item = this.rule(schema.items ?? true, depth + 1)
    const [min, max] = [count(schema.minItems) ?? 0, count(schema.maxItems)]
    if (max !== undefined && max < min) throw invalidSchema('maxItems is less than minItems')
    if (max === 0) return this.#noted(this.#builder.add(`"[" ${ws} "]"`), '[')
    const rest = repeat(
      `("," ${ws} ${item})`,
      Math.max(0, min - 1),
      max === undefined ? max : max - 1,
    )
    const items = `${item} ${rest} ${ws}`
    const name = this.#builder.add(`"[" ${ws} ${min === 0 ? `(${items})?` : items} "]"`)
    return this.#noted(name, '[', [item])
  }

  #string(schema: JsonObject): string {
    const { format, pattern } = schema
    if (typeof pattern === 'string') {
      this.#refuseLengths(schema, 'pattern')
      return this.#builder.add(`"\\"" ${addPattern(this.#builder, pattern)} "\\""`)
    }
    const formatted = typeof format === 'string' ? formatRule(format) : undefined
    if (formatted !== undefined) {
      this.#refuseLengths(schema, 'format')
      return this.#builder.share(`"\\"" ${formatted} "\\""`)
    }
    const [min, max] = [count(schema.minLength) ?? 0, count(schema.maxLength)]
    if (min === 0 && max === undefined) return this.#builder.json('string')
    if (max !== undefined && max < min) throw invalidSchema('maxLength is less than minLength')
    return this.#builder.share(`"\\"" ${repeat(this.#builder.json('char'), min, max)} "\\""`)
  }

  /** A rule follows either the pattern or the lengths, so strict schemas cannot have both. */
  #refuseLengths({ minLength, maxLength }: JsonObject, other: string): void {
    if (this.#strict && (minLength !== undefined || maxLength !== undefined))
      throw new EngineError(
        'unsupported_value',
        `a strict schema cannot use a length next to ${other}`,
      )
  }

  #number(schema: JsonObject): string {
    const [min, max] = numberBounds(schema)
    if (min === undefined && max === undefined) return this.#builder.json('number')
    try {
      const range = numberRange(min, max, this.#builder.share('[0-9]{1,16}'))
      if (range !== undefined) return this.#builder.share(range)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw invalidSchema('a bound has too many decimals')
    }
    throw nothingFits()
  }
}

function refuseUnenforced(schema: JsonObject): void {
  const found = unenforced.find((keyword) => schema[keyword] !== undefined)
  if (found !== undefined)
    throw new EngineError('unsupported_value', `a strict schema cannot use the keyword ${found}`)
}

function impliedType(schema: JsonObject): string | undefined {
  if (schema.properties !== undefined) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  return schema.pattern !== undefined || schema.minLength !== undefined ? 'string' : undefined
}

/** The property that every such object starts with, and its values if they are listed. */
function firstProperty(
  schema: JsonObject,
  required: ReadonlySet<unknown>,
): FirstProperty | undefined {
  const [first] = Object.entries(asObject(schema.properties))
  if (first === undefined || !required.has(first[0])) return undefined
  const [name, value] = first
  const { const: only, enum: listed } = asObject(value)
  const values = only !== undefined ? [only] : Array.isArray(listed) ? listed : undefined
  return { name, values: values?.map((one) => JSON.stringify(one)) }
}

/** Numbers start with many characters, which count as one. */
const startOf = (json: string): Starts => (/^[-\d]/.test(json) ? '0' : json.slice(0, 1))

const jsonLiteral = (value: unknown): string => literal(JSON.stringify(value))
