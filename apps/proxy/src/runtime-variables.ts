/** What the runtime is told before it starts; it reads these variables once. */
import { keptCode } from '@privatemode/service/start-over'

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

export const runtimeVariables = { ...memoryPace, ...keptCode } as const
