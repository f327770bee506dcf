/** Lets a program have more than 256 outbound requests open at once. */

/**
 * Starts the program over, as the same process, with the runtime's limit raised; call it first in `main.ts`.
 *
 * Bun reads the limit once, before any of our code runs, and queues every `fetch` above it: without this, the
 * 257th open stream would wait for another to end. Where a process cannot replace itself the limit stays.
 */
export function raiseRequestLimit(limit = 16384): void {
  if (process.env.BUN_CONFIG_MAX_HTTP_REQUESTS !== undefined) return
  if (process.platform === 'win32' || typeof process.execve !== 'function') return
  const compiled = Bun.main.startsWith('/$bunfs/')
  const args = [...process.execArgv, ...process.argv.slice(compiled ? 2 : 1)]
  const env = { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: String(limit) }
  process.execve(process.execPath, [process.execPath, ...args], env)
}
