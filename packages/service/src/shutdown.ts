/** Shuts a program down on SIGTERM, SIGINT or SIGHUP: once, in order, within a time limit. */
import { readFileSync } from 'node:fs'

export type ShutdownSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

export type ShutdownOptions = {
  /** Drains and closes; the process exits with 0 afterwards. */
  readonly stop: (signal: ShutdownSignal) => Promise<void>
  /** The process exits with 1 if `stop` takes longer. */
  readonly limitMs: number
  readonly exit?: (code: number) => void
  readonly on?: (signal: ShutdownSignal, listener: () => void) => void
  readonly now?: () => number
}

/**
 * Signals this close together count as one request to stop.
 *
 * Ctrl-C reaches the terminal's whole process group, and npm and our launchers each forward their
 * copy, so one key press arrives up to three times.
 */
export const oneRequestMs = 1_000

/** A second signal after that ends the process immediately. */
export function onShutdown(options: ShutdownOptions): void {
  const exit = options.exit ?? ((code: number) => process.exit(code))
  const on = options.on ?? ((signal, listener) => void process.on(signal, listener))
  const now = options.now ?? (() => performance.now())
  let firstAt: number | undefined
  const begin = (signal: ShutdownSignal) => {
    if (firstAt !== undefined) {
      if (now() - firstAt > oneRequestMs) exit(1)
      return
    }
    firstAt = now()
    setTimeout(() => exit(1), options.limitMs).unref()
    options.stop(signal).then(
      () => exit(0),
      () => exit(1),
    )
  }
  on('SIGTERM', () => begin('SIGTERM'))
  on('SIGINT', () => begin('SIGINT'))
  if (!ignoresHangup()) on('SIGHUP', () => begin('SIGHUP'))
}

/** Whether `nohup` started this program: a SIGHUP listener would override it. */
function ignoresHangup(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false // only available on Linux
  }
}
