/** Formats a flag table for `--help` and as the Markdown tables of the documentation. */
import { envName, type Flag, type FlagTable, type Program } from './program.ts'

/** The text of `--help`. */
export function formatHelp(program: Program<FlagTable>): string {
  const lines = [formatTitle(program), program.summary, '']
  for (const [group, flags] of groups(program.flags)) {
    lines.push(`${group}:`)
    for (const [name, flag] of flags) {
      lines.push(`  ${spellings(name, flag).join(', ')} ${placeholder(flag)}`.trimEnd())
      lines.push(`      ${flag.help}${defaultNote(flag)}`)
    }
    lines.push('')
  }
  lines.push(...formatCommands(program))
  lines.push('Other:', '  -h, --help', '      print this help', '  --version')
  lines.push('      print the version', '')
  lines.push(
    `Each flag can also be set by an environment variable: --${firstName(program.flags)} is ` +
      `${envName(program.envPrefix, firstName(program.flags))}.`,
    'The command line wins over the environment.',
  )
  return `${lines.join('\n')}\n`
}

export function formatTitle({ title, name, version }: Program<FlagTable>): string {
  return title ?? `${name} ${version}`
}

function formatCommands({ commands = {} }: Program<FlagTable>): string[] {
  const listed = Object.entries(commands)
  if (listed.length === 0) return []
  const lines = listed.flatMap(([name, help]) => [`  ${name}`, `      ${help}`])
  return ['Commands; each has --help:', ...lines, '']
}

/** One Markdown table with the flags of a group (or all), as shown in the documentation. */
export function formatFlagTable(program: Program<FlagTable>, group?: string): string {
  const rows = ['| Flag | Type | Default | Environment | Meaning |', '|---|---|---|---|---|']
  for (const [name, flag] of Object.entries(program.flags)) {
    if (group !== undefined && (flag.group ?? 'Flags') !== group) continue
    const cells = [
      spellings(name, flag)
        .map((text) => `\`${text}\``)
        .join(', '),
      takesFile(flag) ? 'string or @file' : flag.type,
      defaultCell(flag),
      `\`${envName(program.envPrefix, name)}\``,
      `${flag.help}${choiceNote(flag)}`.replaceAll('|', '\\|'),
    ]
    rows.push(`| ${cells.join(' | ')} |`)
  }
  return `${rows.join('\n')}\n`
}

function defaultCell(flag: Flag): string {
  if (flag.default === undefined) return flag.type === 'boolean' ? 'false' : 'unset'
  return flag.default === '' ? 'empty' : `\`${flag.default}\``
}

function groups(flags: FlagTable): Map<string, [string, Flag][]> {
  const found = new Map<string, [string, Flag][]>()
  for (const [name, flag] of Object.entries(flags)) {
    const group = flag.group ?? 'Flags'
    const members = found.get(group) ?? []
    members.push([name, flag])
    found.set(group, members)
  }
  return found
}

function spellings(name: string, flag: Flag): string[] {
  const short = flag.short === undefined ? [] : [`-${flag.short}`]
  return [...short, `--${name}`, ...(flag.aliases ?? []).map((alias) => `--${alias}`)]
}

function placeholder(flag: Flag): string {
  switch (flag.type) {
    case 'string':
      if (flag.choices !== undefined) return flag.choices.join('|')
      return takesFile(flag) ? 'TEXT|@FILE' : 'TEXT'
    case 'boolean':
      return flag.default === true ? 'true|false' : ''
    case 'integer':
      return 'N'
    case 'secret':
      return 'TEXT|@FILE'
  }
}

function takesFile(flag: Flag): boolean {
  return flag.type === 'secret' || (flag.type === 'string' && flag.orFile === true)
}

function choiceNote(flag: Flag): string {
  return flag.type === 'string' && flag.choices !== undefined ? ` (${flag.choices.join(', ')})` : ''
}

function defaultNote(flag: Flag): string {
  return flag.default === undefined || flag.default === false || flag.default === ''
    ? ''
    : ` (default ${flag.default})`
}

function firstName(flags: FlagTable): string {
  return Object.keys(flags)[0] ?? 'flag'
}
