/** Waits until a part of the stack answers; on a slow machine that takes minutes. */
import { StackError } from './stack-error.ts'

export type Awaited = {
  readonly name: string
  readonly url: string
  readonly logPath: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
  /** CA of an HTTPS address. */
  readonly ca?: string
  readonly limits?: Partial<typeof usual>
}

const usual = { readyMs: 300_000, patienceMs: 30_000, pauseMs: 100, answerMs: 5_000 }

/** A part that ends is restarted, so only time tells that it will never answer. */
export async function untilReady(part: Awaited): Promise<void> {
  const { name, url, logPath, say, signal, ca } = part
  const { readyMs, patienceMs, pauseMs, answerMs } = { ...usual, ...part.limits }
  const startedAt = performance.now()
  let toldMs = patienceMs
  for (;;) {
    if (signal.aborted) throw new StackError('part_failed', 'stopped before everything was ready')
    if (await answers(url, answerMs, ca)) return
    const waitedMs = performance.now() - startedAt
    if (waitedMs >= readyMs) break
    if (waitedMs >= toldMs) {
      say(`the ${name} is not ready after ${Math.round(waitedMs / 1000)} s; still waiting`)
      toldMs = waitedMs + patienceMs
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  const message = `the ${name} was not ready after ${readyMs / 1000} s; read ${logPath}`
  throw new StackError('part_failed', message)
}

async function answers(url: string, limitMs: number, ca: string | undefined): Promise<boolean> {
  try {
    const init = {
      signal: AbortSignal.timeout(limitMs),
      ...(ca === undefined ? {} : { tls: { ca } }),
    }
    return (await fetch(url, init)).ok
  } catch {
    return false
  }
}
