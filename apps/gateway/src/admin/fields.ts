/** Fields of admin requests: each validates a value and describes itself for the OpenAPI document. */
import { ApiError } from '@privatemode/protocol/api'
import { type ModelPrice, modelShape, type Schema } from '@privatemode/protocol/fleet'
import { looksLikeAnother } from '../accounts/email-domains.ts'
import { type Limits, parseLimits } from '../keys/limits.ts'

export type Field<T> = {
  readonly schema: Schema
  readonly required: boolean
  /** Returns the validated value; `undefined` means it is absent. */
  readonly parse: (value: unknown, name: string) => T
}

/** Marks a table that ignores unknown names, for requests that others define. */
export const others: unique symbol = Symbol('others')

export type FieldTable = {
  readonly [name: string]: Field<unknown>
  readonly [others]?: 'ignored'
}

export type Parsed<Table extends FieldTable> = {
  readonly [Name in keyof Table & string]: Table[Name] extends Field<infer T> ? T : never
}

/** Validates a whole object; unknown names are refused unless the table ignores them. */
export function parseFieldTable<const Table extends FieldTable>(
  table: Table,
  value: unknown,
): Parsed<Table> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuse('the body', 'a JSON object')
  }
  const given = value as Record<string, unknown>
  const isStrict = table[others] === undefined
  for (const name of Object.keys(given)) {
    if (isStrict && !Object.hasOwn(table, name)) throw refuse(name, 'left out: it is unknown')
  }
  const entries = Object.entries(table).map(([name, field]) => {
    if (given[name] === undefined && field.required) {
      throw new ApiError('missing_parameter', `${name} is missing`, { param: name })
    }
    return [name, field.parse(given[name], name)]
  })
  return Object.fromEntries(entries) as Parsed<Table>
}

export function text(minLength: number, maxLength: number): Field<string> {
  return {
    required: true,
    schema: { type: 'string', minLength, maxLength },
    parse(value, name) {
      const trimmed = typeof value === 'string' ? value.trim() : ''
      const isLong = trimmed.length >= minLength && trimmed.length <= maxLength
      if (isLong && !unprintable.test(trimmed)) return trimmed
      throw refuse(name, `printable text of ${minLength} to ${maxLength} characters`)
    },
  }
}

/** Control characters that affect terminals or text direction, line breaks, invisible characters, and unpaired surrogates. */
const unprintable =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u200b\u2060-\u2064\ufeff\ufff9-\ufffb]/u

/** A secret is accepted unchanged, including spaces. */
export function secret(maxLength: number): Field<string> {
  return {
    required: true,
    schema: { type: 'string', format: 'password', maxLength },
    parse(value, name) {
      if (typeof value === 'string' && value !== '' && value.length <= maxLength) return value
      throw refuse(name, `text of at most ${maxLength} characters`)
    },
  }
}

/** Text of another party, accepted unchanged. */
export function foreignText(): Field<string> {
  return { required: true, schema: { type: 'string' }, parse: (value) => String(value) }
}

export function email(): Field<string> {
  return {
    required: true,
    schema: { type: 'string', format: 'email', maxLength: 254 },
    parse(value, name) {
      const text = typeof value === 'string' && value.length <= 254 ? value.normalize('NFC') : ''
      const at = text.lastIndexOf('@')
      const good = emailShape.test(text) && !looksLikeAnother(text)
      const domain = good ? asciiDomain(text.slice(at + 1)) : undefined
      if (domain !== undefined) return `${text.slice(0, at)}@${domain}`
      throw refuse(name, 'an e-mail address')
    },
  }
}

/** Domain names of e-mail addresses, such as `example.com`. */
export function domainList(maxItems: number): Field<readonly string[]> {
  return {
    required: true,
    schema: { type: 'array', items: { type: 'string', format: 'hostname' }, maxItems },
    parse(value, name) {
      const domains = Array.isArray(value)
        ? value.map((each: unknown) => (typeof each === 'string' ? asciiDomain(each) : undefined))
        : []
      const good = Array.isArray(value) && domains.length <= maxItems
      if (good && domains.every((domain) => domain !== undefined)) return domains
      throw refuse(name, `at most ${maxItems} domains such as example.com`)
    },
  }
}

/** Normalized for comparison: two spellings of a domain are the same domain (RFC 5891). */
function asciiDomain(text: string): string | undefined {
  const url = /^[^\s/?#@:[\]\\%]{1,253}$/u.test(text) ? URL.parse(`http://${text}`) : null
  return url === null || url.hostname === '' ? undefined : url.hostname.replace(/\.$/, '')
}
const emailShape = /^[^\s@"<>\p{Cc}\p{Cs}]+@[^\s@"<>\p{Cc}\p{Cs}]+$/u

export function oneOf<const Choice extends string>(...choices: Choice[]): Field<Choice> {
  return {
    required: true,
    schema: { type: 'string', enum: choices },
    parse(value, name) {
      const found = choices.find((choice) => choice === value)
      if (found !== undefined) return found
      throw refuse(name, choices.join(' or '))
    },
  }
}

export function flag(): Field<boolean> {
  return {
    required: true,
    schema: { type: 'boolean' },
    parse(value, name) {
      // Query parameters are text.
      if (value === true || value === 'true') return true
      if (value === false || value === 'false') return false
      throw refuse(name, 'true or false')
    },
  }
}

export function wholeNumber(minimum: number, maximum: number): Field<number> {
  return {
    required: true,
    schema: { type: 'integer', minimum, maximum },
    parse(value, name) {
      const isText = typeof value === 'string' && /^\d{1,15}$/.test(value)
      const number = isText ? Number(value) : value
      if (typeof number === 'number' && Number.isInteger(number)) {
        if (number >= minimum && number <= maximum) return number
      }
      throw refuse(name, `a whole number from ${minimum} to ${maximum}`)
    },
  }
}

export function time(): Field<Date> {
  return {
    required: true,
    schema: { type: 'string', format: 'date-time' },
    parse(value, name) {
      const date = new Date(typeof value === 'string' && timeShape.test(value) ? value : Number.NaN)
      // NaN fails both comparisons; databases have no year 0.
      if (date.getTime() >= 0 && date.getTime() < latestMs) return date
      throw refuse(name, 'a time such as 2030-01-31T00:00:00Z')
    },
  }
}
const latestMs = Date.UTC(10_000, 0, 1)
const timeShape = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/

export function limitsField(): Field<Limits> {
  const limit = { type: ['integer', 'null'], minimum: 0, description: 'null is no limit' }
  return {
    required: true,
    schema: {
      type: 'object',
      properties: {
        requests_per_minute: limit,
        tokens_per_minute: limit,
        tokens_per_month: limit,
        concurrent_streams: limit,
      },
      additionalProperties: false,
    },
    parse: (value) => parseLimits(value),
  }
}

const maxPriceMicros = 1e12
const price = { type: 'integer', minimum: 0, maximum: maxPriceMicros }

/** Amounts are for a million tokens, in millionths of the currency. */
const modelPriceSchema: Schema = {
  type: 'object',
  properties: {
    model: { type: 'string' },
    input_micros: price,
    cached_micros: price,
    output_micros: price,
  },
  required: ['model', 'input_micros', 'cached_micros', 'output_micros'],
  additionalProperties: false,
}

/** A price list: every model once. */
export function priceList(maxItems: number): Field<readonly ModelPrice[]> {
  const amount = wholeNumber(0, maxPriceMicros)
  const table = {
    model: { required: true, schema: { type: 'string' }, parse: parseModel },
    input_micros: amount,
    cached_micros: amount,
    output_micros: amount,
  }
  return {
    required: true,
    schema: { type: 'array', items: modelPriceSchema, maxItems },
    parse(value, name) {
      if (!Array.isArray(value) || value.length > maxItems) {
        throw refuse(name, `a list of at most ${maxItems} prices`)
      }
      const prices = value.map((each: unknown) => parseFieldTable(table, each))
      if (new Set(prices.map(({ model }) => model)).size === prices.length) return prices
      throw refuse(name, 'a list with every model once')
    },
  }
}

function parseModel(value: unknown, name: string): string {
  if (typeof value === 'string' && modelShape.test(value)) return value
  throw refuse(name, 'the name of a model')
}

/** ISO 4217. */
export function currencyCode(): Field<string> {
  return {
    required: true,
    schema: { type: 'string', pattern: '^[A-Z]{3}$' },
    parse(value, name) {
      if (typeof value === 'string' && /^[A-Z]{3}$/.test(value)) return value
      throw refuse(name, 'a currency code such as EUR')
    },
  }
}

export function optional<T>(field: Field<T>): Field<T | undefined> {
  return {
    required: false,
    schema: field.schema,
    parse: (value, name) => (value === undefined ? undefined : field.parse(value, name)),
  }
}

/** May be omitted or null. */
export function nullable<T>(field: Field<T>): Field<T | null | undefined> {
  return {
    required: false,
    schema: { anyOf: [field.schema, { type: 'null' }] },
    parse: (value, name) =>
      value === undefined || value === null ? value : field.parse(value, name),
  }
}

function refuse(param: string, expected: string): ApiError {
  return new ApiError('invalid_value', `${param} must be ${expected}`, { param })
}
