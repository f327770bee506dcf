/** Disks that are full. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fault } from '../fault.ts'
import type { Disk } from '../fleet/disks.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { otherMeasurement } from '../fleet/manifests.ts'

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

/** A manifest that cannot be recorded must not be enforced until it can. */
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
    note(
      `manifest ${await trust.publish([fleet.measurement, otherMeasurement(fleet.measurement, '00')], fleet.models)}`,
    )
    // The proxy looks for a new manifest every five minutes.
    for (const { name } of fleet.parts) clocks!.set(name, 330)
    return async () => {
      disks!.workspace.free()
      await untilRecorded(fleet)
      for (const { name } of fleet.parts) clocks!.set(name, 0)
      await Bun.sleep(1_200) // until then a part may still go by the old one
    }
  },
  check: async ({ fleet }) =>
    isRecorded(fleet) ? [] : ['with room again the proxy has not recorded the new manifest'],
}

async function untilRecorded(fleet: Fleet): Promise<void> {
  for (const endMs = performance.now() + 20_000; performance.now() < endMs; ) {
    if (isRecorded(fleet)) return
    await Bun.sleep(250)
  }
}

function isRecorded({ folder, trust }: Fleet): boolean {
  const record = readFileSync(join(folder, 'workspace/manifests/log.txt'), 'utf8')
  return record.includes(`manifest-${trust.serial}-`)
}

/** Without space for its log PostgreSQL stops; once there is space, it must start with its data intact. */
const fullDatabase: Fault = {
  ...full('PostgreSQL until it cannot go on', (fleet) => fleet.disks?.database),
  limitMs: 60_000,
  async inject({ fleet, note }) {
    const disk = fleet.disks!.database
    disk.fill()
    const failure = await useUpLog(fleet.postgres.url)
    note(failure === undefined ? 'it went on' : 'it stopped')
    return async () => {
      disk.free()
      if (await answers(fleet.postgres.url)) return
      await fleet.postgres.kill().catch(() => {}) // what is left of it, if anything is
      await fleet.postgres.start()
    }
  },
}

/** Requests new log segments until there is no space left; returns the failure. */
async function useUpLog(url: string): Promise<unknown> {
  const sql = new Bun.SQL(url, { max: 1, connectionTimeout: 5 })
  try {
    for (let segment = 0; segment < 20; segment++) {
      await sql`select pg_switch_wal()`
      await Bun.sleep(200)
    }
    return undefined
  } catch (error) {
    return error
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

async function answers(url: string): Promise<boolean> {
  for (const endMs = performance.now() + 8_000; performance.now() < endMs; ) {
    const sql = new Bun.SQL(url, { max: 1, connectionTimeout: 2 })
    try {
      await sql`select pg_switch_wal()`
      return true
    } catch {
      await Bun.sleep(250)
    } finally {
      await sql.close({ timeout: 0 }).catch(() => {})
    }
  }
  return false
}

export const diskFaults: readonly Fault[] = [
  full('PostgreSQL', (fleet) => fleet.disks?.database),
  fullDatabase,
  full('all logs', (fleet) => fleet.disks?.logs),
  fullWorkspace,
]
