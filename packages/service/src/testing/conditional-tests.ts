/** Tests that need something a machine may lack: without it they are skipped under a name that says why. */
import { describe, test } from 'bun:test'

type Body = Parameters<typeof test>[1]

/**
 * `test` and `describe` that run unless something is missing; `missing` is then the reason. `npm
 * test` prints the reasons at its end and fails if a test is skipped without one.
 */
export function unlessMissing(missing: string | undefined): {
  readonly test: (name: string, body: Body, timeoutMs?: number) => void
  readonly describe: (name: string, body: () => void) => void
} {
  const isMissing = missing !== undefined
  const named = (name: string) => (isMissing ? `${name} (skipped: ${missing})` : name)
  return {
    test: (name, body, timeoutMs) => void test.skipIf(isMissing)(named(name), body, timeoutMs),
    describe: (name, body) => void describe.skipIf(isMissing)(named(name), body),
  }
}
