/** What the runtime is told before it starts; it reads these variables once. */

/**
 * How soon freed memory goes back to the system: after a quarter of a second, where the runtime has a tenth.
 *
 * Streams take and free the same memory on every tick. Given back in between, it is cleared and mapped anew
 * each time, and a thread looks through the heap for more ten times a second. At 32 shaped streams that was
 * an eighth of the proxy's processor time, for prompts of 10 MB as much. After a whole second a flood of
 * large bodies holds half as much memory again.
 */
const memoryPace = {
  MIMALLOC_PURGE_DELAY: '250',
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '1000',
} as const

/**
 * Compiled code is kept for as long as the program runs. The runtime else throws it away at the first full
 * collection after a minute, busy or not, and a proxy that serves a hundred streams a second spends a third
 * of its time compiling the same functions again: 764 of 1862 µs for each stream after a pause of a minute,
 * none once all is compiled and kept. It is 5 MiB, and cannot be more than the program.
 */
const keptCode = { BUN_JSC_forceCodeBlockLiveness: '1' } as const

export const runtimeVariables = { ...memoryPace, ...keptCode } as const
