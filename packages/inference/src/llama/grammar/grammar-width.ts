/**
 * Bounds in how many ways a text can be parsed under the rules of a schema.
 *
 * llama.cpp keeps a stack for every way. If two alternatives start the same and both contain the
 * union again, each level doubles the number, and a dozen brackets exhaust memory. So the ways are
 * counted beforehand.
 */
import { EngineError } from '../../engine.ts'

/** What a value of a rule can start with: one of `{ [ " 0 t f n`; a star means any. */
export type Starts = string

/** The first property of an object, if it is always present: two that differ distinguish the objects. */
export type FirstProperty = {
  readonly name: string
  readonly values: readonly string[] | undefined
}

type Ways = {
  readonly least: number
  /** Rules that are followed at the same time, if a text matches them all. */
  readonly together: readonly (readonly string[])[]
}

const maxWays = 1_024
const maxWork = 2_000_000
/** One more level of the text per round: ways that only add up stay few, ways that double do not. */
const maxRounds = 1_500

export class GrammarWidth {
  readonly #ways = new Map<string, Ways>()
  readonly #starts = new Map<string, Starts>()
  readonly #firsts = new Map<string, FirstProperty>()

  /** A rule without inner rules, or with inner rules that are followed one at a time. */
  note(name: string, starts: Starts, inside: readonly string[] = [], least = 1): void {
    this.#starts.set(name, starts)
    this.#ways.set(name, { least, together: inside.map((one) => [one]) })
  }

  /** An object: a declared name is not among the additional properties, so one rule applies. */
  noteObject(
    name: string,
    values: readonly string[],
    other: string | undefined,
    first: FirstProperty | undefined,
  ): void {
    this.#starts.set(name, '{')
    const together = values.map((value) => [value])
    if (other !== undefined) together.push([other])
    this.#ways.set(name, { least: 1, together })
    if (first !== undefined && other === undefined) this.#firsts.set(name, first)
  }

  noteReference(name: string, target: string): void {
    this.note(name, this.#starts.get(target) ?? '*', [target])
    const first = this.#firsts.get(target)
    if (first !== undefined) this.#firsts.set(name, first)
  }

  noteUnion(name: string, options: readonly string[]): void {
    const startsOf = (option: string) => this.#starts.get(option) ?? '*'
    const different = [...new Set(options)]
    const together = [...'{["0tfn'].flatMap((start) => {
      const alike = different.filter((option) => {
        const starts = startsOf(option)
        return starts === '*' || starts.includes(start)
      })
      return start === '{' && this.#areApart(alike) ? alike.map((one) => [one]) : [alike]
    })
    const starts = [...new Set(different.map(startsOf).join(''))].join('')
    this.#starts.set(name, starts.includes('*') ? '*' : starts)
    this.#ways.set(name, { least: 1, together })
  }

  /** Throws if a text could be parsed in too many ways. */
  check(): void {
    const usedBy = new Map<string, Set<string>>()
    for (const [name, { together }] of this.#ways)
      for (const inside of together.flat()) {
        const users = usedBy.get(inside) ?? new Set()
        usedBy.set(inside, users.add(name))
      }
    const counts = new Map<string, number>()
    let changed = new Set(this.#ways.keys())
    let work = 0
    for (let round = 0; round < maxRounds && changed.size > 0; round++) {
      const next = new Map<string, number>()
      for (const name of changed) {
        const { least, together } = this.#ways.get(name) as Ways
        let count = least
        for (const names of together) {
          work += names.length
          count = Math.max(
            count,
            names.reduce((sum, one) => sum + (counts.get(one) ?? 1), 0),
          )
        }
        if (count > maxWays || work > maxWork) throw tooManyWays()
        if (count !== (counts.get(name) ?? 1)) next.set(name, count)
      }
      for (const [name, count] of next) counts.set(name, count)
      changed = new Set([...next.keys()].flatMap((name) => [...(usedBy.get(name) ?? [])]))
    }
  }

  #areApart(objects: readonly string[]): boolean {
    const seen = new Map<string, Set<string> | undefined>()
    return objects.every((object) => {
      const first = this.#firsts.get(object)
      if (first === undefined) return false
      const { name, values } = first
      if (!seen.has(name)) {
        seen.set(name, values && new Set(values))
        return true
      }
      const others = seen.get(name)
      if (others === undefined || values === undefined) return false
      if (values.some((value) => others.has(value))) return false
      for (const value of values) others.add(value)
      return true
    })
  }
}

const tooManyWays = (): EngineError =>
  new EngineError(
    'unsupported_value',
    'the schema cannot be enforced: its alternatives are too much alike',
  )
