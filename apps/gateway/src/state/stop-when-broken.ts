/** Notices that PGlite broke, and lets no statement run on it from then on. */
import type { PGlite } from '@electric-sql/pglite'

/** How PGlite unwinds after an ordinary error of a statement; it stays intact. */
const unwindStatus = 100

/**
 * PGlite swallows traps and aborts of its WebAssembly. PostgreSQL aborts when it cannot write its
 * log: the locks it held stay taken, and the next statement waits for them forever.
 */
export function stopWhenBroken(pglite: PGlite, onBroken: (error: unknown) => void): void {
  const module = pglite.Module
  const runOnce = module._PostgresMainLoopOnce
  let broken: { readonly error: unknown } | undefined
  module._PostgresMainLoopOnce = () => {
    if (broken !== undefined) {
      // PGlite would go on with the rest of the message, without end.
      onBroken(broken.error)
      stopThread()
    }
    try {
      runOnce()
    } catch (error) {
      if ((error as { status?: unknown }).status !== unwindStatus) broken = { error }
      throw error
    }
  }
  const exec = pglite.execProtocolStream.bind(pglite)
  pglite.execProtocolStream = async (...message) => {
    // The error that PostgreSQL reported before it aborted says more than the trap.
    const [result] = await Promise.allSettled([exec(...message)])
    if (broken !== undefined) {
      onBroken(result.status === 'rejected' ? result.reason : broken.error)
      await never
    }
    if (result.status === 'rejected') throw result.reason
    return result.value
  }
}

/** PGlite keeps its locks while it waits, so no other statement starts. */
const never = new Promise<never>(() => {})

function stopThread(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
