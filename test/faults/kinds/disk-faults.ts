/** Disks that are full. */
import type { Fault } from '../fault.ts'
import type { Disk } from '../fleet/disks.ts'
import type { Fleet } from '../fleet/fleet.ts'

function full(what: string, diskOf: (fleet: Fleet) => Disk | undefined): Fault {
  return {
    name: `fill the disk of ${what}`,
    family: 'disk',
    holdMs: 5_000,
    limitMs: 40_000,
    obstacle: (fleet) =>
      diskOf(fleet) === undefined ? 'mounting a small disk needs the rights of root' : undefined,
    async inject({ fleet }) {
      const disk = diskOf(fleet)!
      disk.fill()
      return () => disk.free()
    },
  }
}

/** A manifest that cannot be put on record must not be enforced; afterwards it is. */
const fullWorkspace: Fault = {
  ...full("the proxy's record, while the manifest changes", (fleet) => fleet.disks?.workspace),
  holdMs: 6_000,
  obstacle: (fleet) => {
    if (fleet.disks === undefined) return 'mounting a small disk needs the rights of root'
    return fleet.clocks === undefined ? 'libfaketime is not installed' : undefined
  },
  async inject({ fleet, note }) {
    const { disks, clocks, trust } = fleet
    disks!.workspace.fill()
    note(`manifest ${await trust.publish([fleet.measurement, '00'.repeat(32)], fleet.models)}`)
    // The proxy looks for a new manifest every five minutes.
    for (const { name } of fleet.parts) clocks!.set(name, 330)
    return async () => {
      disks!.workspace.free()
      for (const { name } of fleet.parts) clocks!.set(name, 0)
      await Bun.sleep(1_200) // until then a part may still go by the old one
    }
  },
}

export const diskFaults: readonly Fault[] = [
  full('PostgreSQL', (fleet) => fleet.disks?.database),
  full('all logs', (fleet) => fleet.disks?.logs),
  fullWorkspace,
]
