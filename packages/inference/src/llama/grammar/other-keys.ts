/** A rule for the keys of an object that its schema does not declare. */
import { type GrammarBuilder, literal } from './gbnf.ts'

/** What may follow a backslash. Escapes that name a character in a second way are left out. */
const escapes = '"\\bfnrt'
const unwritable = '"\\\\\\x7F\\x00-\\x1F'
const escapeClass = (letters: string): string => `[${letters.replace(/["\\]/g, '\\$&')}]`

type Node = { isName: boolean; readonly next: Map<string, Node> }

/**
 * Matches any key but these, in quotes: a declared name must not take the type of the others. Keys
 * are written in one way only, so that "\u0061" is not another "a".
 */
export function addOtherKeys(builder: GrammarBuilder, names: readonly string[]): string {
  const one = builder.share(`[^${unwritable}] | "\\\\" ${escapeClass(escapes)}`)
  const root = newNode()
  for (const name of names) insert(root, name)
  return builder.share(`"\\"" ${addNodes(builder, root, one)} "\\""`)
}

const newNode = (): Node => ({ isName: false, next: new Map() })

/** Names with characters that no key here can have are not in the way. */
function insert(root: Node, name: string): void {
  const written = JSON.stringify(name).slice(1, -1)
  const units = written.match(/\\u[0-9a-f]{4}|\\.|[^\\]/gsu) ?? []
  if (units.some((unit) => unit.length > 2 || unit === '\x7f')) return
  let node = root
  for (const unit of units) {
    const next = node.next.get(unit) ?? newNode()
    node.next.set(unit, next)
    node = next
  }
  node.isName = true
}

/** Follows the names as far as a key is like one of them; from there on anything may follow. */
function addNodes(builder: GrammarBuilder, root: Node, one: string): string {
  const first = builder.reserveState()
  const pending: [string, Node][] = [[first, root]] // a list, because names can be very long
  for (const [rule, { isName, next }] of pending) {
    const like = [...next].map(([unit, node]) => {
      const following = builder.reserveState()
      pending.push([following, node])
      return `${literal(unit)} ${following}`
    })
    const ends = isName ? [] : ['""']
    builder.define(rule, [...like, ...otherUnits([...next.keys()], one), ...ends].join(' | '))
  }
  return first
}

function otherUnits(units: readonly string[], one: string): string[] {
  const plain = units.filter((unit) => !unit.startsWith('\\')).map(charOf)
  const others = [...escapes].filter((letter) => !units.includes(`\\${letter}`)).join('')
  const char = `[^${unwritable}${plain.join('')}] ${one}*`
  return others === '' ? [char] : [char, `"\\\\" ${escapeClass(others)} ${one}*`]
}

const charOf = (char: string): string =>
  `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
