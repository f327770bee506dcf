/** The interface of a subcommand, and the parser for its options. */

export type Output = {
  readonly out: (text: string) => void
  readonly error: (text: string) => void
}

export type Command = {
  /** One line for the list of subcommands. */
  readonly summary: string
  readonly help: string
  /** Returns the exit code: 0 yes, 1 no, above 2 neither; 2 is a usage error, which throws. */
  readonly run: (args: readonly string[], output: Output) => Promise<number>
}

/** A usage error: reported on standard error, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export type Option = {
  /** Placeholder for the value; without it the option is a switch. */
  readonly value?: string
  readonly help: string
  readonly repeatable?: true
}

export type OptionTable = Readonly<Record<string, Option>>

/** Values by name, in the order given; options that were not given have no entry. */
export type Options<Table extends OptionTable> = {
  readonly [Name in keyof Table]?: readonly string[]
}

/** Parses `--name value` and `--name=value`; anything else is a usage error. */
export function parseOptions<const Table extends OptionTable>(
  table: Table,
  args: readonly string[],
): Options<Table> {
  const options: Record<string, string[]> = {}
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? ''
    const [, name = '', inline] = /^--([A-Za-z-]+)(?:=(.*))?$/s.exec(argument) ?? []
    const option = Object.hasOwn(table, name) ? table[name] : undefined
    if (option === undefined) throw new UsageError(`unknown option ${JSON.stringify(argument)}`)
    const isSwitch = option.value === undefined
    if (isSwitch && inline !== undefined) throw new UsageError(`--${name} takes no value`)
    if (inline === undefined && !isSwitch) index += 1
    const value = isSwitch ? '' : (inline ?? args[index])
    if (value === undefined) throw new UsageError(`--${name} needs a value`)
    const values = options[name] ?? []
    if (values.length > 0 && option.repeatable === undefined) {
      throw new UsageError(`--${name} was given twice`)
    }
    options[name] = [...values, value]
  }
  return options as Options<Table>
}

/** The single value of a required option. */
export function required(values: readonly string[] | undefined, name: string): string {
  const [value] = values ?? []
  if (value === undefined) throw new UsageError(`--${name} is missing`)
  return value
}

export function formatOptions(table: OptionTable): string {
  const lines = Object.entries(table).map(([name, option]) => {
    const spelled = `--${name} ${option.value ?? ''}${option.repeatable ? ' …' : ''}`
    return `  ${spelled.padEnd(38)} ${option.help}`
  })
  return lines.join('\n')
}
