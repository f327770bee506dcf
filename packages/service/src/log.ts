/**
 * The log: constant event texts and allowed fields only, as text or JSON lines; no content, keys or
 * salts.
 */
import { writeSync } from 'node:fs'
import { type LogFieldValues, type LogLevel, logLevels } from './log-fields.ts'
import { formatJsonLine, formatTextLine } from './log-line.ts'

export type LogFormat = 'text' | 'json'

/** The event must be a literal: text assembled at run time has type `string` and is refused. */
type Write = <const Event extends string>(
  event: string extends Event ? never : Event,
  fields?: LogFieldValues,
) => void

export type Log = Readonly<Record<LogLevel, Write>> & {
  /** Writes buffered lines; call it before the process ends. */
  flush(): void
}

export type LogOptions = {
  readonly format: LogFormat
  /** Minimum level number to write: debug -4, info 0, warn 4, error 8. */
  readonly level: number
  /** Receives whole lines; by default they are written to `descriptor`. */
  readonly write?: (lines: string) => void
  /** Standard error by default. */
  readonly descriptor?: number | undefined
  /** Other processes also write to standard error: their lines must not split ours. */
  readonly sharedOutput?: boolean
  readonly now?: () => Date
}

/** The number of a level given by name (any case) or as a number; `undefined` if it is neither. */
export function parseLogLevel(text: string): number | undefined {
  const name = text.toLowerCase()
  if (Object.hasOwn(logLevels, name)) return logLevels[name as LogLevel]
  return /^[+-]?\d{1,4}$/.test(text) ? Number(text) : undefined
}

const flushBytes = 16 * 1024
const flushDelayMs = 25
const heldLimit = 1024 * 1024
/** The size up to which a write to a pipe is atomic (PIPE_BUF of pipe(7)). */
const undividedBytes = 4096
const newline = 0x0a

/**
 * Creates a log; lines are buffered for a few milliseconds, warnings and errors are written
 * immediately.
 */
export function createLog(options: LogOptions): Log {
  const formatLine = options.format === 'json' ? formatJsonLine : formatTextLine
  const now = options.now ?? (() => new Date())
  const out = options.write ?? writerTo(options.descriptor ?? 2, options.sharedOutput === true)
  let held = ''
  let timer: ReturnType<typeof setTimeout> | undefined

  function flush(): void {
    if (timer !== undefined) clearTimeout(timer)
    timer = undefined
    if (held === '') return
    const lines = held
    held = ''
    out(lines)
  }

  function writer(level: LogLevel): Write {
    const number = logLevels[level]
    if (number < options.level) return () => {}
    return (event, fields) => {
      held += formatLine(now(), level, event, fields ?? {})
      if (number >= logLevels.warn || held.length >= flushBytes) flush()
      else timer ??= setTimeout(flush, flushDelayMs).unref()
    }
  }

  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    flush,
  }
}

/** Writes without ever blocking: a stalled reader costs lines, not requests. */
function writerTo(descriptor: number, shared: boolean): (lines: string) => void {
  let waiting = Buffer.alloc(0)
  return (lines) => {
    let bytes = Buffer.concat([waiting, Buffer.from(lines)])
    waiting = Buffer.alloc(0)
    try {
      while (bytes.length > 0) {
        const end = shared ? endOfLines(bytes, undividedBytes) : bytes.length
        bytes = bytes.subarray(writeSync(descriptor, bytes, 0, end))
      }
    } catch (error) {
      const blocked = (error as { code?: unknown }).code === 'EAGAIN'
      if (blocked && bytes.length <= heldLimit) waiting = bytes
    }
  }
}

/** The end of the last line that fits within `limit`; the end of the first line if that is longer. */
export function endOfLines(bytes: Buffer, limit: number): number {
  if (bytes.length <= limit) return bytes.length
  const last = bytes.lastIndexOf(newline, limit - 1)
  if (last >= 0) return last + 1
  const first = bytes.indexOf(newline, limit)
  return first < 0 ? bytes.length : first + 1
}
