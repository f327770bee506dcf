/** Lets a program have more than 256 outbound requests open at once. */

type Variables = Readonly<Record<string, string>>

/**
 * Starts the program over, as the same process, with the runtime's limit raised; call it first in `main.ts`.
 *
 * Bun reads the limit once, before any of our code runs, and queues every `fetch` above it: without this, the
 * 257th open stream would wait for another to end. Where a process cannot replace itself the limit stays.
 * `more` are other variables that are read once; what the operator has set stays as it is.
 */
export function raiseRequestLimit(more: Variables = {}): void {
  const wanted: Variables = { BUN_CONFIG_MAX_HTTP_REQUESTS: '16384', ...more }
  if (Object.keys(wanted).every((name) => process.env[name] !== undefined)) return
  if (process.platform === 'win32' || typeof process.execve !== 'function') return
  const compiled = Bun.main.startsWith('/$bunfs/')
  const args = [...process.execArgv, ...process.argv.slice(compiled ? 2 : 1)]
  process.execve(process.execPath, [process.execPath, ...args], { ...wanted, ...process.env })
}
