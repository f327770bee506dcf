/** Ends a program on SIGTERM or SIGINT: once, in order, within a time. */
export type ShutdownSignal = 'SIGTERM' | 'SIGINT'

export type ShutdownOptions = {
  /** Drains and closes; the process exits with 0 when it is done. */
  readonly stop: (signal: ShutdownSignal) => Promise<void>
  /** The process exits with 1 when `stop` takes longer. */
  readonly limitMs: number
  readonly exit?: (code: number) => void
  readonly on?: (signal: ShutdownSignal, listener: () => void) => void
}

/** A second signal ends the process at once, so that a person can insist. */
export function onShutdown(options: ShutdownOptions): void {
  const exit = options.exit ?? ((code: number) => process.exit(code))
  const on = options.on ?? ((signal, listener) => void process.on(signal, listener))
  let stopping = false
  const begin = (signal: ShutdownSignal) => {
    if (stopping) return exit(1)
    stopping = true
    setTimeout(() => exit(1), options.limitMs).unref()
    options.stop(signal).then(
      () => exit(0),
      () => exit(1),
    )
  }
  on('SIGTERM', () => begin('SIGTERM'))
  on('SIGINT', () => begin('SIGINT'))
}
