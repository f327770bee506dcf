/** Rules for strings with a format. */

const date = '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])'
const time =
  '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [+-] [0-2] [0-9] ":" [0-5] [0-9])'
const byte = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9] [0-9] | [0-9])'
const label = '[a-zA-Z0-9] ([a-zA-Z0-9-]{0,30} [a-zA-Z0-9])?'

const formats: Readonly<Record<string, string>> = {
  date,
  time,
  'date-time': `${date} "T" ${time}`,
  uuid: '[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}',
  ipv4: `${byte} "." ${byte} "." ${byte} "." ${byte}`,
  hostname: `${label} ("." ${label})*`,
  email: `[a-zA-Z0-9] [a-zA-Z0-9._+-]{0,40} "@" ${label} ("." ${label})+`,
  duration:
    '"P" ([0-9]{1,6} "D" ("T" [0-9]{1,6} [HMS])? | "T" [0-9]{1,6} [HMS] | [0-9]{1,6} [YMW])',
}

/** The content of a string of this format, without its quotes; undefined for an unknown format. */
export const formatRule = (format: string): string | undefined =>
  Object.hasOwn(formats, format) ? formats[format] : undefined
