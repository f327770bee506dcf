/**
 * Limits on the form that a caller gives an answer. Model servers prepare it with native code, in the
 * processes that serve everyone: what crashes that code, or exhausts its memory, stops the server.
 */
import { ApiError } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { isObject } from './json-value.ts'
import { parseBody } from './parse-body.ts'

const maxChars = 262_144

/**
 * References times depth. Both are followed by recursion: llguidance crashed at 4,864, xgrammar at
 * 16,128.
 */
const maxLevels = 2048

/** llguidance keeps a state for every item that an array may have. */
const maxItems = 1_000_000

/** It also keeps one for every remainder, and combines the divisors of nested schemas. */
const maxDivisor = 100_000

/** xgrammar follows the parentheses of a pattern by recursion: it crashed at 60,000. */
const maxPattern = 8192

const patternNames: ReadonlySet<string> = new Set([
  'pattern',
  'regex',
  'guided_regex',
  'whitespace_pattern',
])

/** Servers accept these schemas as text as well. */
const textNames: ReadonlySet<string> = new Set(['structured_outputs', 'guided_json', 'json_schema'])

export function checkForm(value: unknown, param: string): void {
  if ((JSON.stringify(value) ?? '').length > maxChars)
    throw new ApiError('invalid_value', `'${param}' is larger than 256 KiB`, { param })
  const costs = [measure({ [param]: value })]
  const text = param === 'structured_outputs' && isObject(value) ? value.json : value
  if (typeof text === 'string' && textNames.has(param))
    costs.push(measure(parseSchema(text, param)))
  refuseCostly(costs, param)
}

/** Servers combine the schemas of tools into one; there a reference may lead to another tool. */
export function checkToolSchemas(schemas: readonly unknown[]): void {
  const costs = schemas.map(measure)
  const areSeparate = schemas.every((schema, i) => hasTargets(schema, costs[i]?.references))
  const items = costs.reduce((sum, cost) => sum + cost.items, 0)
  refuseCostly([...costs, areSeparate ? { ...measure({}), items } : measure(schemas)], 'tools')
}

function refuseCostly(costs: readonly Cost[], param: string): void {
  const refuse = (what: string) => {
    throw new ApiError('invalid_value', `'${param}' ${what}`, { param })
  }
  for (const { references, depth, items, divisor, pattern } of costs) {
    if (references.size * depth > maxLevels) refuse('has too many references ($ref) for its depth')
    if (divisor > maxDivisor)
      refuse(`has values of multipleOf with a common multiple above ${maxDivisor}`)
    if (items > maxItems) refuse(`has minItems and maxItems of more than ${maxItems} in all`)
    if (pattern > maxPattern) refuse(`has a pattern or a name of over ${maxPattern} characters`)
  }
}

/** As strict as for the body itself: depth is limited, and no name is given twice. */
function parseSchema(text: string, param: string): JsonObject {
  try {
    return parseBody(new TextEncoder().encode(text))
  } catch {
    throw new ApiError('invalid_value', `'${param}' has a schema that is not valid JSON`, { param })
  }
}

type Cost = {
  readonly references: Set<string>
  depth: number
  items: number
  divisor: number
  pattern: number
}

/** Every name counts wherever it is: what it means is for the server to say. */
function measure(schema: unknown): Cost {
  const cost = { references: new Set<string>(), depth: 0, items: 0, divisor: 1, pattern: 0 }
  addCost(schema, 1, cost)
  return cost
}

function addCost(value: unknown, depth: number, cost: Cost): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > cost.depth) cost.depth = depth
  if (Array.isArray(value)) {
    for (const inner of value) addCost(inner, depth + 1, cost)
    return
  }
  const fields = value as JsonObject
  for (const name in fields) {
    const inner = fields[name]
    if (name.length > cost.pattern) cost.pattern = name.length
    if (typeof inner === 'object') addCost(inner, depth + 1, cost)
    else if (typeof inner === 'string') addText(name, inner, cost)
    else if (typeof inner === 'number') addNumber(name, inner, cost)
  }
}

function addText(name: string, value: string, cost: Cost): void {
  if (value.length > cost.pattern && patternNames.has(name)) cost.pattern = value.length
  if (name === '$ref' || name === '$dynamicRef') cost.references.add(value)
}

function addNumber(name: string, value: number, cost: Cost): void {
  if (name === 'minItems' || name === 'maxItems') cost.items += Math.max(0, value)
  if (name === 'multipleOf') cost.divisor = leastCommonMultiple(cost.divisor, digits(value))
}

/** Servers make an integer of a decimal fraction. */
function digits(value: number): number {
  if (Number.isInteger(value)) return Math.abs(value)
  return Number(String(Math.abs(value)).split('e')[0]?.replace('.', ''))
}

function leastCommonMultiple(a: number, b: number): number {
  if (b === 0 || a > maxDivisor) return a
  // 1e999 is valid JSON.
  if (!Number.isFinite(b)) return b
  let [divisor, rest] = [a, b]
  while (rest !== 0) [divisor, rest] = [rest, divisor % rest]
  return (a / divisor) * b
}

function hasTargets(schema: unknown, references: ReadonlySet<string> = new Set()): boolean {
  return [...references].every((reference) => hasTarget(schema, reference))
}

function hasTarget(schema: unknown, reference: string): boolean {
  let target = schema
  for (const name of reference.replace(/^#\/?/, '').split('/')) {
    if (name === '') continue
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return false
    target = (target as JsonObject)[name]
  }
  return true
}
