/** Samples what processes hold: memory and open handles. */
import { readdirSync, readFileSync } from 'node:fs'
import { listProcesses } from '../process-table.ts'

export type Sample = {
  readonly name: string
  readonly rssMib: number
  /** Memory of its own: not what it shares with files and other processes. */
  readonly privateMib: number
  readonly handles: number
}

export function sampleProcess(name: string, pid: number): Sample | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const mib = (field: string) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
    return {
      name,
      rssMib: mib('VmRSS'),
      privateMib: mib('RssAnon'),
      handles: readdirSync(`/proc/${pid}/fd`).length,
    }
  } catch {
    return undefined // it ended meanwhile
  }
}

/** A server of several processes, summed: the one that listens on `port` and its children. */
export function sampleServer(name: string, port: string): Sample {
  const own = listProcesses().filter(({ args }) => args.includes(`-p ${port} `))
  const parents = new Set(own.map(({ pid }) => pid))
  const all = listProcesses().filter(({ pid, parent }) => parents.has(pid) || parents.has(parent))
  const samples = all.flatMap(({ pid }) => sampleProcess(name, pid) ?? [])
  const sum = (field: 'privateMib' | 'handles') =>
    samples.reduce((total, sample) => total + sample[field], 0)
  // What its processes share would be counted once for each.
  return { name, rssMib: sum('privateMib'), privateMib: sum('privateMib'), handles: sum('handles') }
}
