/** Converts a regular expression of a JSON Schema, as far as a grammar can express it. */
import { EngineError } from '../../engine.ts'
import type { GrammarBuilder } from './gbnf.ts'
import {
  makeAutomaton,
  type PatternNode,
  type PatternState,
  type Range,
} from './pattern-automaton.ts'

const classes: Readonly<Record<string, readonly Range[]>> = {
  d: [[0x30, 0x39]],
  w: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
  s: [[0x20, 0x20]],
}

/** What `\s` excludes if it is negated; where it is wanted, a plain space is enough. */
const whiteSpace: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]

const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' }

/** What cannot appear unescaped in a JSON string: control characters, the quote, the backslash. */
const unwritable: readonly Range[] = [
  [0x00, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x7f, 0x7f],
]

/**
 * The content of a string that matches the whole pattern, anchored at both ends as its authors
 * intend, as the name of a rule. Look-around, back-references and the like are refused.
 */
export function addPattern(builder: GrammarBuilder, pattern: string): string {
  const reader = new PatternReader(pattern.replace(/^\^/, '').replace(/(?<!\\)\$$/, ''))
  const states = makeAutomaton(reader.whole(), (work) => builder.countParts(work / 20))
  const names = states.map(() => builder.reserveState())
  for (const [at, state] of states.entries())
    builder.define(names[at] ?? '', formatState(state, names))
  return names[0] ?? '""'
}

function formatState({ isEnd, next }: PatternState, names: readonly string[]): string {
  const moves = [...next].map(
    ([to, ranges]) => `[${ranges.map(formatRange).join('')}] ${names[to]}`,
  )
  // Every state leads somewhere or is an end: every node of a pattern reaches its end.
  return [...moves, ...(isEnd ? ['""'] : [])].join(' | ')
}

class PatternReader {
  readonly #chars: readonly string[]
  #at = 0

  constructor(pattern: string) {
    this.#chars = [...pattern]
    if (this.#chars.length > 500) throw refused('a pattern is longer than 500 characters')
  }

  whole(): PatternNode {
    const rule = this.#alternatives(0)
    if (this.#at < this.#chars.length) throw refused('a pattern has a stray )')
    return rule
  }

  #alternatives(depth: number): PatternNode {
    if (depth > 20) throw refused('a pattern is nested too deeply')
    const options = [this.#sequence(depth)]
    while (this.#take('|')) options.push(this.#sequence(depth))
    return { kind: 'options', options }
  }

  #sequence(depth: number): PatternNode {
    const items: PatternNode[] = []
    while (this.#at < this.#chars.length && !'|)'.includes(this.#peek()))
      items.push(this.#quantified(this.#atom(depth)))
    return { kind: 'sequence', items }
  }

  #atom(depth: number): PatternNode {
    const char = this.#next()
    if (char === '.') return negatedClass([])
    if (char === '[') return this.#charClass()
    if (char === '\\') return this.#escape()
    if (char === '(') return this.#group(depth)
    if ('*+?{^$'.includes(char)) throw refused(`a pattern uses ${char} where it is not supported`)
    return stringLiteral(char)
  }

  #group(depth: number): PatternNode {
    if (this.#take('?') && !this.#take(':'))
      throw refused('a pattern uses look-around or named groups')
    const body = this.#alternatives(depth + 1)
    if (!this.#take(')')) throw refused('a pattern lacks a )')
    return body
  }

  #escape(): PatternNode {
    const ranges = this.#namedClass(false)
    return ranges === undefined ? stringLiteral(this.#escapedChar()) : positiveClass(ranges)
  }

  /** The class of a letter after a backslash, such as `d`; undefined if it is a character. */
  #namedClass(isNegated: boolean): readonly Range[] | undefined {
    const letter = this.#peek()
    const named = letter.toLowerCase()
    if (!Object.hasOwn(classes, named)) return undefined
    this.#at++
    const isExcluded = isNegated || letter !== named
    const ranges = (isExcluded && named === 's' ? whiteSpace : classes[named]) ?? []
    return letter === named ? ranges : without(all, ranges)
  }

  /** The character that the text after a backslash stands for. */
  #escapedChar(): string {
    const char = this.#next()
    if (Object.hasOwn(controls, char)) return controls[char] ?? ''
    const digits = { u: 4, x: 2 }[char]
    const hex = this.#chars.slice(this.#at, this.#at + (digits ?? 0)).join('')
    if (digits !== undefined && /^[0-9a-f]+$/i.test(hex) && hex.length === digits) {
      this.#at += digits
      // Half of a surrogate pair is no character.
      if (!/^d[89a-f]/i.test(hex) || digits === 2)
        return String.fromCharCode(Number.parseInt(hex, 16))
    }
    if (/[a-zA-Z0-9]/.test(char)) throw refused(`a pattern uses \\${char}, which is not supported`)
    return char
  }

  #charClass(): PatternNode {
    const isNegated = this.#take('^')
    const ranges: Range[] = []
    while (!this.#take(']')) {
      const char = this.#next()
      const named = char === '\\' ? this.#namedClass(isNegated) : undefined
      if (named !== undefined) {
        ranges.push(...named)
        continue
      }
      const from = code(char === '\\' ? this.#escapedChar() : char)
      const isRange = this.#peek() === '-' && this.#chars[this.#at + 1] !== ']'
      if (isRange) this.#next()
      const last = isRange ? this.#next() : undefined
      const to = last === undefined ? from : code(last === '\\' ? this.#escapedChar() : last)
      if (to < from) throw refused('a pattern has a range out of order')
      ranges.push([from, to])
    }
    return isNegated ? negatedClass(ranges) : positiveClass(ranges)
  }

  #quantified(atom: PatternNode): PatternNode {
    if (this.#take('*')) return repeat(atom, 0, undefined)
    if (this.#take('+')) return repeat(atom, 1, undefined)
    if (this.#take('?')) return repeat(atom, 0, 1)
    if (this.#peek() !== '{') return atom
    const found = /^\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/.exec(this.#chars.slice(this.#at).join(''))
    if (found === null) throw refused('a pattern has a { that counts nothing')
    this.#at += found[0].length
    const min = Number(found[1])
    if (found[2] === undefined) return repeat(atom, min, min)
    const max = found[3] === undefined ? undefined : Number(found[3])
    if (max !== undefined && max < min) throw refused('a pattern has a count out of order')
    return repeat(atom, min, max)
  }

  #peek(): string {
    return this.#chars[this.#at] ?? ''
  }

  #next(): string {
    const char = this.#chars[this.#at++]
    if (char === undefined) throw refused('a pattern ends too early')
    return char
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at++
    return true
  }
}

/** llama.cpp's own limit; larger counts are enforced up to it. */
const maxRepetition = 1000

const repeat = (item: PatternNode, min: number, max: number | undefined): PatternNode => ({
  kind: 'repeat',
  item,
  min: Math.min(min, maxRepetition),
  max: max !== undefined && max > maxRepetition ? undefined : max,
})

/** Quotes, backslashes and control characters are escaped in JSON. */
const stringLiteral = (char: string): PatternNode => ({
  kind: 'sequence',
  items: [...JSON.stringify(char).slice(1, -1)].map((one) => ({
    kind: 'chars',
    ranges: [[code(one), code(one)]],
  })),
})

function positiveClass(ranges: readonly Range[]): PatternNode {
  const left = without(ranges, unwritable)
  if (left.length === 0) throw refused('a pattern has a class without a character for JSON')
  return { kind: 'chars', ranges: left }
}

const negatedClass = (ranges: readonly Range[]): PatternNode => positiveClass(without(all, ranges))

const all: readonly Range[] = [[0, 0x10ffff]]

function without(ranges: readonly Range[], taken: readonly Range[]): Range[] {
  let left = [...ranges]
  for (const [from, to] of taken)
    left = left.flatMap(([low, high]) => {
      const below: Range = [low, Math.min(high, from - 1)]
      const above: Range = [Math.max(low, to + 1), high]
      return [below, above].filter(([first, last]) => first <= last)
    })
  return left
}

const formatRange = ([from, to]: Range): string =>
  from === to ? hexCode(from) : `${hexCode(from)}-${hexCode(to)}`

const hexCode = (point: number): string => `\\U${point.toString(16).padStart(8, '0')}`
const code = (char: string): number => char.codePointAt(0) ?? 0

const refused = (why: string): EngineError =>
  new EngineError('unsupported_value', `the schema cannot be enforced: ${why}`)
