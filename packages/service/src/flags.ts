/** Parses a program's flags from the command line, the environment and `@file`s, typed by their table. */

import { parseArgs } from 'node:util'
import { formatHelp, formatTitle } from './flag-help.ts'
import { envName, type Flag, type FlagTable, type FlagValues, type Program } from './program.ts'
import { readNamedFile } from './read-named-file.ts'
import { Secret } from './secret.ts'
import { ServiceError } from './service-error.ts'

export type ParsedFlags<Table extends FlagTable> =
  | AskedText
  | {
      readonly kind: 'values'
      readonly values: FlagValues<Table>
      /** Names set by the user, not by default. */
      readonly given: ReadonlySet<keyof Table & string>
    }

/** Help or version was requested: print the text and exit. */
export type AskedText = { readonly kind: 'text'; readonly text: string }

/** The outcome of parsing a program's settings. */
export type ParsedSettings<Settings> =
  | AskedText
  | { readonly kind: 'settings'; readonly settings: Settings }

export type FlagSources = {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Parses a program's flags; the command line overrides the environment, which overrides the default. */
export function parseFlags<const Table extends FlagTable>(
  program: Program<Table>,
  sources: FlagSources,
): ParsedFlags<Table> {
  const texts = readVariables(program, sources.env)
  const fromArgs = readArgs(program, sources.args)
  if (fromArgs.kind !== 'texts') return fromArgs
  for (const [name, entry] of fromArgs.texts) texts.set(name, entry)

  const values: Record<string, unknown> = {}
  for (const [name, flag] of Object.entries(program.flags)) {
    const entry = texts.get(name)
    values[name] = entry === undefined ? (flag.default ?? unset(flag)) : convert(flag, entry)
  }
  return {
    kind: 'values',
    values: Object.freeze(values) as FlagValues<Table>,
    given: new Set(texts.keys()) as ReadonlySet<keyof Table & string>,
  }
}

function unset(flag: Flag): false | undefined {
  return flag.type === 'boolean' ? false : undefined
}

type ArgTexts = Map<string, { text: string; as: string }>

function readVariables(program: Program<FlagTable>, env: FlagSources['env']): ArgTexts {
  const texts: ArgTexts = new Map()
  for (const [name, { aliases = [] }] of Object.entries(program.flags)) {
    for (const spelled of [name, ...aliases]) {
      const as = envName(program.envPrefix, spelled)
      const text = env[as]
      if (text !== undefined && text !== '') note(texts, name, { text, as })
    }
  }
  return texts
}

function note(texts: ArgTexts, name: string, entry: { text: string; as: string }): void {
  const earlier = texts.get(name)
  if (earlier !== undefined && earlier.as !== entry.as && earlier.text !== entry.text) {
    throw invalid(
      `${earlier.as} and ${entry.as} are the same flag but differ; set only one of them`,
    )
  }
  texts.set(name, entry)
}

function readArgs(
  program: Program<FlagTable>,
  args: readonly string[],
): AskedText | { kind: 'texts'; texts: ArgTexts } {
  const texts: ArgTexts = new Map()
  const { names, options } = spellings(program.flags)
  // Not strict: we report mistakes in our own words below.
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined) break
    if (token.kind === 'positional') {
      throw invalid(`unexpected argument; flags start with --, see ${program.name} --help`)
    }
    if (token.kind === 'option-terminator') throw unknownFlag(program, '--')
    if (token.name === 'help') return { kind: 'text', text: formatHelp(program) }
    if (token.name === 'version') return { kind: 'text', text: `${formatTitle(program)}\n` }
    const name = names.get(token.name)
    if (name === undefined) throw unknownFlag(program, token.rawName)
    let text = token.value?.replace(/^=(?=.)/, token.rawName.startsWith('--') ? '=' : '')
    if (text === undefined && program.flags[name]?.type === 'boolean') {
      // `--flag` alone means true; a literal value may also follow as a separate argument.
      const next = tokens[at + 1]
      const word = next?.kind === 'positional' ? next.value : undefined
      text = word === 'true' || word === 'false' ? word : 'true'
      if (word === text) at++
    }
    if (text === undefined) throw invalid(`${token.rawName} needs a value`)
    note(texts, name, { text, as: token.rawName })
  }
  return { kind: 'texts', texts }
}

type Option = { type: 'boolean' | 'string'; short?: string }

/** Every spelling of a flag, for the parser and for looking flags up. */
function spellings(flags: FlagTable) {
  const names = new Map<string, string>()
  const options: Record<string, Option> = {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean' },
  }
  for (const [name, { type, short, aliases = [] }] of Object.entries(flags)) {
    const kind = type === 'boolean' ? 'boolean' : 'string'
    for (const spelled of [name, ...aliases]) {
      names.set(spelled, name)
      options[spelled] = { type: kind }
    }
    if (short !== undefined) options[name] = { type: kind, short }
  }
  return { names, options }
}

function unknownFlag(program: Program<FlagTable>, spelled: string): ServiceError {
  const known = [...spellings(program.flags).names.keys()].map((name) => `--${name}`)
  const meant = known.find((flag) => isSlip(flag.toLowerCase(), spelled.toLowerCase()))
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
  return invalid(`unknown flag ${spelled}${hint}; see ${program.name} --help`)
}

/** Equal but for one letter that is missing, added or wrong, or two that are swapped. */
function isSlip(flag: string, typed: string): boolean {
  let at = 0
  while (at < flag.length && flag[at] === typed[at]) at++
  const [rest, other] = [flag.slice(at), typed.slice(at)]
  const swapped = `${other[1] ?? ''}${other[0] ?? ''}${other.slice(2)}`
  return (
    rest === other ||
    rest === other.slice(1) ||
    rest.slice(1) === other ||
    rest.slice(1) === other.slice(1) ||
    rest === swapped
  )
}

function convert(
  flag: Flag,
  entry: { text: string; as: string },
): string | number | boolean | Secret {
  const { text, as } = entry
  switch (flag.type) {
    case 'string':
      if (flag.choices !== undefined && !flag.choices.includes(text)) {
        throw invalid(`${as} is "${text}", expected ${flag.choices.join(', ')}`)
      }
      return flag.orFile === true ? literalOrFile(text, as) : text
    case 'boolean':
      if (text === 'true' || text === '1') return true
      if (text === 'false' || text === '0') return false
      throw invalid(`${as} is "${text}", expected true or false`)
    case 'integer':
      return convertInteger(flag, text, as)
    case 'secret':
      return new Secret(literalOrFile(text, as))
  }
}

function convertInteger(flag: Flag & { type: 'integer' }, text: string, as: string): number {
  const min = flag.min ?? 0
  const max = flag.max ?? Number.MAX_SAFE_INTEGER
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw invalid(`${as} is "${text}", expected a whole number from ${min} to ${max}`)
  }
  return value
}

function literalOrFile(given: string, as: string): string {
  if (!given.startsWith('@')) return given
  const path = given.slice(1)
  // Editors and `echo` end a file with a newline, which is not part of the secret.
  const value = readNamedFile(as, path)
    .toString()
    .replace(/\r?\n$/, '')
  if (value === '') throw invalid(`${as} names ${path}, which is empty`)
  return value
}

function invalid(message: string): ServiceError {
  return new ServiceError('flag_invalid', message)
}
