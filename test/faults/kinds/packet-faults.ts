/** Packets that are lost, delayed, duplicated, reordered or changed, between all parts at once. */
import type { Fault } from '../fault.ts'
import { type PacketFaults, wireObstacle } from '../fleet/wire.ts'

function packets(name: string, faults: PacketFaults, limitMs = 25_000): Fault {
  return {
    name,
    family: 'packets',
    holdMs: 6_000,
    limitMs,
    // A report that was changed in transit is refused, and one in flight may be sent twice.
    mayLoseReports: faults.forge !== undefined,
    obstacle: (fleet) => (fleet.wire === undefined ? (wireObstacle() ?? 'no wire') : undefined),
    async inject({ fleet: { wire }, note }) {
      const before = await wire?.counts()
      wire?.set(faults)
      return async () => {
        wire?.set({})
        const after = await wire?.counts()
        if (before === undefined || after === undefined) return
        const told = (Object.keys(after) as (keyof typeof after)[])
          .map((what) => [what, after[what] - before[what]] as const)
          .filter(([, count]) => count > 0)
        note(told.map(([what, count]) => `${what} ${count}`).join(', '))
      }
    },
  }
}

export const packetFaults: readonly Fault[] = [
  packets('drop 5% of packets', { drop: 0.05 }),
  packets('drop all packets', { drop: 1 }, 40_000),
  packets('delay packets by 50 to 130 ms', { delayMs: 50, jitterMs: 80 }),
  packets('duplicate 20% of packets', { duplicate: 0.2 }),
  packets('reorder 20% of packets', { reorder: 0.2 }),
  packets('corrupt 3% of packets', { corrupt: 0.03 }),
  packets('change 1% of packets with checksums that fit', { forge: 0.01 }),
  packets('a bit of everything', {
    ...{ drop: 0.01, duplicate: 0.05, reorder: 0.05, corrupt: 0.01, forge: 0.002 },
    ...{ delayMs: 10, jitterMs: 20 },
  }),
]
