/** Restarts a program with environment variables that its runtime reads only at startup. */

type Variables = Readonly<Record<string, string>>

/**
 * Allows more than 256 concurrent outbound requests.
 *
 * Bun queues every `fetch` above its limit: without this, the 257th stream would wait for another
 * to end.
 */
export const manyRequests = { BUN_CONFIG_MAX_HTTP_REQUESTS: '16384' } as const

/**
 * Keeps compiled code for as long as the program runs.
 *
 * Otherwise the runtime discards it at the first full collection after a minute, busy or not, and a
 * program with a hundred streams a second spends two fifths of its time compiling the same
 * functions again: in the proxy, 764 of 1862 µs per stream after a pause of a minute, and nothing
 * once everything is compiled and kept. It takes 5 MiB, and cannot exceed the size of the program.
 */
export const keptCode = { BUN_JSC_forceCodeBlockLiveness: '1' } as const

/**
 * Optimizes a function after a fifth of the usual number of calls.
 *
 * A server that has just started answers its first requests with code that is not optimized yet.
 * This way the first token through proxy, gateway and worker takes 3.6 instead of 4.7 ms from the
 * 100th stream to the 200th, and 2.9 instead of 3.5 ms up to the 400th, and both servers spend a
 * tenth less processor time until then. Later, and under load, nothing changes. The proxy would
 * start 8 ms later, and keeps the usual numbers.
 */
const earlyOptimization = {
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '200',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '200',
  BUN_JSC_thresholdForOptimizeSoon: '200',
} as const

/**
 * Keeps freed memory for half a second before it goes back to the kernel, and keeps gaps between
 * memory in use.
 *
 * After 10 ms, as the allocator has it, every burst of requests gets pages that the kernel must
 * clear first, and a thread does nothing but return them: a small chat in the worker costs 930 µs
 * that way and 820 µs with this, for 8 MiB at the peak. Returning gaps costs a stream of 256 chunks
 * another eighth, and saves 10 to 35 MiB.
 */
const keptPages = { MIMALLOC_PURGE_DELAY: '500', MIMALLOC_PURGE_HOLES: '0' } as const

/**
 * Collects garbage less often: a small heap may grow to 128 MiB first instead of three times its
 * size, and the timer that collects sooner gets a two-hundredth of the processor instead of a
 * twentieth. Larger heaps grow as before.
 *
 * The worker needs 4 to 8% less processor time for small chats and streams this way, and holds 30
 * to 50 MiB more under load.
 */
const roomyHeap = {
  BUN_JSC_largeHeapSize: String(128 * 1024 * 1024),
  BUN_JSC_collectionTimerMaxPercentCPU: '0.005',
} as const

/** What gateway and worker run with: on a server, memory costs less than processor time. */
export const serverVariables = {
  ...keptCode,
  ...earlyOptimization,
  ...keptPages,
  ...roomyHeap,
} as const

/**
 * Restarts the program in the same process with these variables set; call it first in `main.ts`.
 *
 * Bun reads them once, before any of our code runs. Variables set by the operator are kept, and if
 * a process cannot replace itself, the program continues without them.
 */
export function startOverWith(variables: Variables): void {
  if (Object.keys(variables).every((name) => process.env[name] !== undefined)) return
  if (process.platform === 'win32' || typeof process.execve !== 'function') return
  const compiled = Bun.main.startsWith('/$bunfs/')
  const args = [...process.execArgv, ...process.argv.slice(compiled ? 2 : 1)]
  process.execve(process.execPath, [process.execPath, ...args], { ...variables, ...process.env })
}
