/** Reads a program's flags: from the command line, the environment and `@file`s, typed by their table. */

import { formatHelp } from './flag-help.ts'
import { envName, type Flag, type FlagTable, type FlagValues, type Program } from './program.ts'
import { readNamedFile } from './read-named-file.ts'
import { Secret } from './secret.ts'
import { ServiceError } from './service-error.ts'

export type ParsedFlags<Table extends FlagTable> =
  | AskedText
  | {
      readonly kind: 'values'
      readonly values: FlagValues<Table>
      /** Names that were set by the user, not by default. */
      readonly given: ReadonlySet<keyof Table & string>
    }

/** Help or version was asked for: to be printed, and that is all. */
export type AskedText = { readonly kind: 'text'; readonly text: string }

/** What a program makes of its flags. */
export type ParsedSettings<Settings> =
  | AskedText
  | { readonly kind: 'settings'; readonly settings: Settings }

export type FlagSources = {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Reads a program's flags; the command line beats the environment, which beats the default. */
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
    throw invalid(`${earlier.as} and ${entry.as} are the same flag but differ; give one of them`)
  }
  texts.set(name, entry)
}

function readArgs(
  program: Program<FlagTable>,
  args: readonly string[],
): AskedText | { kind: 'texts'; texts: ArgTexts } {
  const texts: ArgTexts = new Map()
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    const [spelled, inline] = splitOnce(arg)
    if (spelled === '--help' || spelled === '-h') return { kind: 'text', text: formatHelp(program) }
    if (spelled === '--version')
      return { kind: 'text', text: `${program.name} ${program.version}\n` }
    const name = findName(program, spelled)
    let text = inline
    if (text === undefined) {
      const next = args[index + 1]
      if (program.flags[name]?.type === 'boolean') {
        // `--flag` alone means true; a literal value may also follow as its own word.
        text = next === 'true' || next === 'false' ? next : 'true'
        if (next === text) index++
      } else {
        if (next === undefined) throw invalid(`${spelled} needs a value`)
        text = next
        index++
      }
    }
    note(texts, name, { text, as: spelled })
  }
  return { kind: 'texts', texts }
}

function splitOnce(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 || !arg.startsWith('-') ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}

function findName(program: Program<FlagTable>, spelled: string): string {
  for (const [name, flag] of Object.entries(program.flags)) {
    if (spelled === `--${name}`) return name
    if (flag.short !== undefined && spelled === `-${flag.short}`) return name
    if (flag.aliases?.some((alias) => spelled === `--${alias}`)) return name
  }
  if (!spelled.startsWith('-')) {
    throw invalid(`unexpected argument; flags start with --, see ${program.name} --help`)
  }
  throw invalid(`unknown flag ${spelled}; see ${program.name} --help`)
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
