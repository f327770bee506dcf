/** Formats one log line; drops every field that is not on the list. */
import { type LogFieldValues, type LogLevel, type LogValue, logFields } from './log-fields.ts'

const listed: ReadonlySet<string> = new Set(logFields)
const longestValue = 500

export function formatTextLine(
  at: Date,
  level: LogLevel,
  event: string,
  fields: LogFieldValues,
): string {
  let line = `time=${at.toISOString()} level=${level.toUpperCase()} msg=${quoted(event)}`
  for (const [name, value] of kept(fields)) {
    line += ` ${name}=${quoted(String(value))}`
  }
  return `${line}\n`
}

export function formatJsonLine(
  at: Date,
  level: LogLevel,
  event: string,
  fields: LogFieldValues,
): string {
  const head = { time: at.toISOString(), level: level.toUpperCase(), msg: event }
  return `${JSON.stringify({ ...head, ...Object.fromEntries(kept(fields)) })}\n`
}

function quoted(text: string): string {
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text)
}

function kept(fields: LogFieldValues): [string, LogValue][] {
  const found: [string, LogValue][] = []
  for (const [name, value] of Object.entries(fields)) {
    if (!listed.has(name)) continue
    if (typeof value === 'number' || typeof value === 'boolean') found.push([name, value])
    else if (typeof value === 'string') found.push([name, value.slice(0, longestValue)])
  }
  return found
}

/**
 * The `code` and `detail` of an error, for the log.
 *
 * Only errors with a code of ours or of the system have their message shown: the message of a `SyntaxError` or
 * `TypeError` can quote what was being parsed.
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
