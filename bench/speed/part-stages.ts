/** What the stages of a small chat cost worker and gateway, and the tables of them. */
import { measureGateway } from './gateway-stages.ts'
import type { Effort, Stage } from './least-us.ts'
import { socketRoundTripUs } from './socket-round-trip.ts'
import { stageTable } from './stages.ts'
import { measureWorker } from './worker-stages.ts'

export type PartStages = {
  /** The day on which they were measured. */
  readonly at: string
  readonly worker: readonly Stage[]
  readonly gateway: readonly Stage[]
}

export async function measureParts(effort: Effort): Promise<PartStages> {
  const tripUs = await socketRoundTripUs(effort)
  return {
    at: new Date().toISOString().slice(0, 10),
    worker: await measureWorker(effort, tripUs),
    gateway: await measureGateway(effort, tripUs),
  }
}

export function formatParts({ at, worker, gateway }: PartStages): string[] {
  return [
    '### Worker and gateway',
    '',
    `The same for the other two programs, measured on ${at}. The worker also reads the chunks of its model server from a socket, up to`,
    'one read for each.',
    '',
    'A busy worker spends more than its stages together. Most of the rest is native code of the runtime, in many small parts, as',
    '`perf record -e cpu-clock -p PID` and `perf report --sort dso` show. Garbage collection has 3 to 4% of the time (`BUN_JSC_logGC=1`).',
    '',
    ...stageTable('a small chat in the worker', worker),
    ...stageTable('a small chat in the gateway', gateway),
  ]
}
