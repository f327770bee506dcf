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
    'Sampled 4000 times a second under 32 small chats at once (2026-11-19, with the names of compiled functions), the running worker spends',
    "56% of its time in the runtime's own native code, called from nearly everywhere, 21% in compiled code of ours, 16% in the kernel and 6%",
    'moving memory. By purpose: a fifth reads the 256 chunks, 15% signs and hashes, 3 to 4% collect garbage; no function has over 8%.',
    '',
    ...stageTable('a small chat in the worker', worker),
    ...stageTable('a small chat in the gateway', gateway),
  ]
}
