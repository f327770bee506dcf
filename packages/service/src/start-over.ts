/** Starts a program over with the variables that its runtime reads only at the start. */

type Variables = Readonly<Record<string, string>>

/**
 * Lets a program have more than 256 outbound requests open at once.
 *
 * Bun queues every `fetch` above its limit: without this, the 257th open stream would wait for another to end.
 */
export const manyRequests = { BUN_CONFIG_MAX_HTTP_REQUESTS: '16384' } as const

/**
 * Keeps compiled code for as long as the program runs.
 *
 * The runtime else throws it away at the first full collection after a minute, busy or not, and a program with a
 * hundred streams a second spends two fifths of its time compiling the same functions again: in the proxy 764 of
 * 1862 µs for each stream after a pause of a minute, and nothing once all is compiled and kept. It is 5 MiB, and
 * cannot be more than the program.
 */
export const keptCode = { BUN_JSC_forceCodeBlockLiveness: '1' } as const

/**
 * Starts the program over, as the same process, with these variables set; call it first in `main.ts`.
 *
 * Bun reads them once, before any of our code runs. What the operator has set stays as it is, and where a process
 * cannot replace itself the program goes on without them.
 */
export function startOverWith(variables: Variables): void {
  if (Object.keys(variables).every((name) => process.env[name] !== undefined)) return
  if (process.platform === 'win32' || typeof process.execve !== 'function') return
  const compiled = Bun.main.startsWith('/$bunfs/')
  const args = [...process.execArgv, ...process.argv.slice(compiled ? 2 : 1)]
  process.execve(process.execPath, [process.execPath, ...args], { ...variables, ...process.env })
}
