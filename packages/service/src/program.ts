/** Describes a program: its name, its version and its flag table. */
import type { Secret } from './secret.ts'

type Described = {
  /** One sentence, lower case; shown by `--help` and in the documentation. */
  readonly help: string
  /** Heading under which help and documentation list the flag. */
  readonly group?: string
  /** One letter: `l` for `-l`. */
  readonly short?: string
  readonly aliases?: readonly string[]
}

export type Flag = Described &
  (
    | {
        readonly type: 'string'
        readonly default?: string
        readonly choices?: readonly string[]
        /** `@path` means the content of that file. */
        readonly orFile?: true
      }
    | { readonly type: 'boolean'; readonly default?: boolean }
    | {
        readonly type: 'integer'
        readonly default?: number
        readonly min?: number
        readonly max?: number
      }
    /** A literal, or `@path` of a file that contains it; wrapped when parsed. */
    | { readonly type: 'secret'; readonly default?: undefined }
  )

export type FlagTable = Readonly<Record<string, Flag>>

type Plain<F extends Flag> = F['type'] extends 'boolean'
  ? boolean
  : F['type'] extends 'integer'
    ? number
    : F['type'] extends 'secret'
      ? Secret
      : F extends { readonly choices: readonly (infer Choice)[] }
        ? Choice
        : string

/** The values a table yields: always present if there is a default, otherwise possibly `undefined`. */
export type FlagValues<Table extends FlagTable> = {
  readonly [Name in keyof Table]: Table[Name] extends {
    readonly default: string | number | boolean
  }
    ? Plain<Table[Name]>
    : Table[Name]['type'] extends 'boolean'
      ? boolean
      : Plain<Table[Name]> | undefined
}

export type Program<Table extends FlagTable> = {
  readonly name: string
  /** The first line of `--help`, and `--version`; name and version if unset. */
  readonly title?: string
  /** One sentence for the top of `--help`. */
  readonly summary: string
  readonly version: string
  readonly envPrefix: string
  /** Commands available instead of running, by their first argument, for `--help`. */
  readonly commands?: Readonly<Record<string, string>>
  readonly flags: Table
}

/** The environment variable of a flag: `apiKey` under prefix `PRIVATEMODE_` is `PRIVATEMODE_API_KEY`. */
export function envName(prefix: string, flagName: string): string {
  const words = flagName
    .replaceAll('-', '_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
  return prefix + words.toUpperCase()
}
