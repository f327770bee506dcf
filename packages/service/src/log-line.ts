/** Formats one log line; drops every field that is not allowed. */
import {
  type LogField,
  type LogFieldValues,
  type LogLevel,
  type LogValue,
  logFields,
} from './log-fields.ts'

const listed: ReadonlySet<string> = new Set(logFields)
const longestValue = 500

export function formatTextLine(
  at: Date,
  level: LogLevel,
  event: string,
  fields: LogFieldValues,
): string {
  let line = `time=${at.toISOString()} level=${level.toUpperCase()} msg=${quoted(event)}`
  for (const name in fields) {
    const value = listedValue(fields, name)
    if (value === undefined) continue
    line += ` ${name}=${typeof value === 'string' ? quoted(value) : value}`
  }
  return `${line}\n`
}

export function formatJsonLine(
  at: Date,
  level: LogLevel,
  event: string,
  fields: LogFieldValues,
): string {
  const kept: Record<string, LogValue> = {
    time: at.toISOString(),
    level: level.toUpperCase(),
    msg: event,
  }
  for (const name in fields) {
    const value = listedValue(fields, name)
    if (value !== undefined) kept[name] = value
  }
  return `${JSON.stringify(kept)}\n`
}

function quoted(text: string): string {
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text)
}

/** The value of an allowed field if its type is harmless; otherwise undefined. */
function listedValue(fields: LogFieldValues, name: string): LogValue | undefined {
  if (!listed.has(name)) return undefined
  const value: unknown = fields[name as LogField]
  switch (typeof value) {
    case 'number':
    case 'boolean':
      return value
    case 'string':
      return value.length > longestValue ? value.slice(0, longestValue) : value
  }
  return undefined
}

/**
 * The `code` and `detail` of an error, for the log.
 *
 * Messages are shown only for errors with a code of ours or of the system: the message of a
 * `SyntaxError` or `TypeError` can quote its input.
 */
export function describeError(error: unknown): { code: string; detail?: string } {
  if (!(error instanceof Error)) return { code: 'unknown' }
  const code = (error as { code?: unknown }).code
  const quotesInput = error instanceof SyntaxError || error instanceof TypeError
  if (typeof code !== 'string' || quotesInput) return { code: error.name }
  const cause = error.cause === undefined ? undefined : describeError(error.cause).detail
  const detail = cause === undefined ? error.message : `${error.message}: ${cause}`
  return { code, detail }
}
