/**
 * Makes a pattern deterministic before llama.cpp sees it.
 *
 * Its matcher follows all ways to parse a text at once and keeps a stack for each: `(a?){1000}` can
 * be parsed in so many ways that a single token takes hours. In a deterministic automaton there is
 * only one.
 */
import { EngineError } from '../../engine.ts'

export type Range = readonly [from: number, to: number]

export type PatternNode =
  | { readonly kind: 'chars'; readonly ranges: readonly Range[] }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'options'; readonly options: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly item: PatternNode
      readonly min: number
      readonly max: number | undefined
    }

export type PatternState = {
  readonly isEnd: boolean
  /** Disjoint characters, by the state that they lead to. */
  readonly next: ReadonlyMap<number, readonly Range[]>
}

const maxNodes = 5_000
const maxStates = 1_500
/** Moves examined while states are created; some patterns have few states but take long to process. */
const maxWork = 400_000

/** The states of the automaton, initial state first; throws if there would be too many. */
export function makeAutomaton(
  pattern: PatternNode,
  countWork: (work: number) => void = () => {},
): PatternState[] {
  const ways = new Ways()
  const start = ways.node()
  const end = ways.add(pattern, start)
  const letters = splitLetters(ways.moves.flat().map(({ ranges }) => ranges))
  const states: { isEnd: boolean; next: Map<number, Range[]> }[] = []
  const numbers = new Map<string, number>()
  const pending: number[][] = []
  let work = 0

  const numberOf = (nodes: readonly number[]): number => {
    const closed = ways.closure(nodes)
    work += closed.length
    const name = closed.join()
    const known = numbers.get(name)
    if (known !== undefined) return known
    if (states.length >= maxStates) throw tooComplex()
    numbers.set(name, states.length)
    pending.push(closed)
    states.push({ isEnd: closed.includes(end), next: new Map() })
    return states.length - 1
  }

  numberOf([start])
  for (let at = 0; at < pending.length; at++) {
    const reached = new Map<number, number[]>()
    for (const node of pending[at] ?? [])
      for (const { ranges, to } of ways.moves[node] ?? [])
        for (const letter of lettersIn(letters, ranges)) {
          if (++work > maxWork) throw tooComplex()
          const nodes = reached.get(letter)
          if (nodes === undefined) reached.set(letter, [to])
          else nodes.push(to)
        }
    for (const [letter, nodes] of [...reached].sort(([a], [b]) => a - b)) {
      const target = numberOf(nodes)
      if (work > maxWork) throw tooComplex()
      const next = states[at]?.next
      next?.set(target, joined(next.get(target) ?? [], letters[letter] as Range))
    }
    pending[at] = []
  }
  countWork(work)
  return states
}

/** A nondeterministic automaton: nodes, moves on a character, and moves on none. */
class Ways {
  readonly moves: { readonly ranges: readonly Range[]; readonly to: number }[][] = []
  readonly #free: number[][] = []

  node(): number {
    if (this.moves.length >= maxNodes) throw tooComplex()
    this.#free.push([])
    return this.moves.push([]) - 1
  }

  /** Adds a pattern that starts at a node, and returns the node where it ends. */
  add(pattern: PatternNode, from: number): number {
    switch (pattern.kind) {
      case 'chars': {
        const to = this.node()
        this.moves[from]?.push({ ranges: pattern.ranges, to })
        return to
      }
      case 'sequence':
        return pattern.items.reduce((at, item) => this.add(item, at), from)
      case 'options': {
        const end = this.node()
        for (const option of pattern.options) {
          const start = this.node()
          this.#free[from]?.push(start)
          this.#free[this.add(option, start)]?.push(end)
        }
        return end
      }
      case 'repeat':
        return this.#repeat(pattern, from)
    }
  }

  /** All nodes that are reachable without a character, in order. */
  closure(nodes: readonly number[]): number[] {
    const reached = new Set(nodes)
    for (const node of reached) for (const next of this.#free[node] ?? []) reached.add(next)
    return [...reached].sort((a, b) => a - b)
  }

  #repeat(
    { item, min, max }: Extract<PatternNode, { readonly kind: 'repeat' }>,
    from: number,
  ): number {
    let at = from
    for (let count = 0; count < min; count++) at = this.add(item, at)
    if (max === undefined) {
      const loop = this.node()
      this.#free[at]?.push(loop)
      this.#free[this.add(item, loop)]?.push(loop)
      return loop
    }
    const end = this.node()
    for (let count = min; count < max; count++) {
      this.#free[at]?.push(end)
      at = this.add(item, at)
    }
    this.#free[at]?.push(end)
    return end
  }
}

/** Disjoint ranges from which all given ones can be composed. */
function splitLetters(given: readonly (readonly Range[])[]): Range[] {
  const cuts = new Set<number>()
  for (const ranges of given)
    for (const [from, to] of ranges) {
      cuts.add(from)
      cuts.add(to + 1)
    }
  const sorted = [...cuts].sort((a, b) => a - b)
  return sorted.slice(0, -1).map((from, at) => [from, (sorted[at + 1] ?? 0) - 1] as const)
}

function lettersIn(letters: readonly Range[], ranges: readonly Range[]): number[] {
  return ranges.flatMap(([from, to]) => {
    const found: number[] = []
    let low = 0
    for (let high = letters.length; low < high; ) {
      const middle = (low + high) >> 1
      if ((letters[middle]?.[0] ?? 0) < from) low = middle + 1
      else high = middle
    }
    for (; low < letters.length && (letters[low]?.[0] ?? 0) <= to; low++) found.push(low)
    return found
  })
}

function joined(ranges: readonly Range[], [from, to]: Range): Range[] {
  const last = ranges.at(-1)
  if (last === undefined || last[1] + 1 !== from) return [...ranges, [from, to]]
  return [...ranges.slice(0, -1), [last[0], to]]
}

const tooComplex = (): EngineError =>
  new EngineError('unsupported_value', 'the schema cannot be enforced: a pattern is too complex')
