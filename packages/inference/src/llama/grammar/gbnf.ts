/** Builds a grammar in GBNF, llama.cpp's notation, with predefined JSON rules. */
import { EngineError } from '../../engine.ts'

/** JSON rules on one line: with unlimited white space, small models get lost in it. */
const jsonRules = {
  ws: '" "?',
  hex: '[0-9a-fA-F]',
  char: '[^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" hex{4})',
  string: '"\\"" char* "\\""',
  integer: '"-"? ("0" | [1-9] [0-9]{0,15})',
  number: 'integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?',
  boolean: '"true" | "false"',
  null: '"null"',
  member: 'string ":" ws value',
  object: '"{" ws (member ("," ws member)* ws)? "}"',
  array: '"[" ws (value ("," ws value)* ws)? "]"',
  value: 'object | array | string | number | boolean | null',
} as const

export type JsonRule = keyof typeof jsonRules

const usedBy: Partial<Record<JsonRule, readonly JsonRule[]>> = {
  char: ['hex'],
  string: ['char'],
  number: ['integer'],
  member: ['string', 'ws', 'value'],
  object: ['ws', 'member'],
  array: ['ws', 'value'],
  value: ['object', 'array', 'string', 'number', 'boolean', 'null'],
}

const maxRules = 4000
/** Rules may repeat what a schema refers to, so their text is bounded separately from the schema's. */
const maxRuleChars = 1024 * 1024
/** Bounds the schema parts that are read: through references, a small schema can repeat the same work many times. */
const maxParts = 100_000
/** llama.cpp expands every repetition, and refuses more than this. */
const maxRepetition = 1000
/** All repetitions of a request: expanding this many blocks other callers for some 20 ms. */
const maxRepetitions = 20_000

export class GrammarBuilder {
  readonly #rules = new Map<string, string>()
  #count = 0
  #chars = 0
  #parts = 0
  #states = 0
  #repetitions = 0
  readonly #shared = new Map<string, string>()

  /** The name of a JSON rule; it and its dependencies are added to the grammar. */
  json(name: JsonRule): string {
    if (!this.#rules.has(name)) {
      this.#rules.set(name, jsonRules[name])
      for (const needed of usedBy[name] ?? []) this.json(needed)
    }
    return name
  }

  /** Adds a rule and returns its name. */
  add(body: string): string {
    const name = this.reserve()
    this.define(name, body)
    return name
  }

  /** Like `add`, but equal rules are added only once. */
  share(body: string): string {
    const name = this.#shared.get(body) ?? this.add(body)
    this.#shared.set(body, name)
    return name
  }

  /** Reserves a name for a rule that is defined later, as recursive schemas require. */
  reserve(): string {
    if (++this.#count > maxRules) throw tooLarge()
    return `r${this.#count}`
  }

  /** A name for a state of a pattern: there are many, and their text bounds them. */
  reserveState(): string {
    return `s${++this.#states}`
  }

  define(name: string, body: string): void {
    this.#chars += body.length
    if (this.#chars > maxRuleChars) throw tooLarge()
    this.#repetitions += countRepetitions(body)
    if (this.#repetitions > maxRepetitions) throw tooLarge()
    this.#rules.set(name, body)
  }

  /** Counts the schema parts that are read or copied, over all schemas of one request. */
  countParts(parts: number): void {
    this.#parts += parts
    if (this.#parts > maxParts) throw tooLarge()
  }

  format(root: string): string {
    const lines = [`root ::= ${root}`]
    for (const [name, body] of this.#rules) lines.push(`${name} ::= ${body}`)
    return `${lines.join('\n')}\n`
  }
}

/** Braces inside literals and character classes count nothing. */
const repetition = /"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{(\d+)(?:,(\d+)?)?\}/g

/** The rules that llama.cpp makes of repetitions; it makes a rule of each group, so nested ones add up. */
function countRepetitions(body: string): number {
  if (!body.includes('{')) return 0
  let all = 0
  for (const [, min, max] of body.matchAll(repetition)) all += Number(max ?? min ?? 0)
  return all
}

const tooLarge = (): EngineError =>
  new EngineError('unsupported_value', 'the schema is too large to be enforced')

/** A literal that matches exactly this text. */
export function literal(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&').replace(/\p{Cc}/gu, charCode)
  return `"${escaped}"`
}

/** A character by its code, where it would otherwise have a special meaning. */
export const charCode = (char: string): string =>
  `\\x${(char.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`

/** `item` at least `min` and at most `max` times. */
export function repeat(item: string, min: number, max: number | undefined): string {
  const most = max !== undefined && max > maxRepetition ? undefined : max
  const least = Math.min(min, maxRepetition)
  if (least === 0 && most === undefined) return `${item}*`
  if (least === 1 && most === undefined) return `${item}+`
  if (least === 0 && most === 1) return `${item}?`
  return most === undefined ? `${item}{${least},}` : `${item}{${least},${most}}`
}
