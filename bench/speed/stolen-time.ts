/** The time that the host of a virtual machine gave to others while a program here wanted to run. */
import { readFileSync } from 'node:fs'

/** A measurement that lost more of its time is repeated. */
export const mostStolen = 0.02

/** Returns a function that tells which part of the time that was asked for since then was not given. */
export function watchStolen(read: () => string = readStat): () => number {
  const before = parseCpuTicks(read())
  return () => {
    const after = parseCpuTicks(read())
    const stolen = after.stolen - before.stolen
    const asked = after.used - before.used + stolen
    return asked <= 0 ? 0 : stolen / asked
  }
}

const readStat = () => readFileSync('/proc/stat', 'latin1')

/** All cores together, in ticks since the machine started. */
export function parseCpuTicks(stat: string): { readonly used: number; readonly stolen: number } {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1] ?? ''
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = line
    .split(' ')
    .map(Number)
  return { used: user + nice + system + irq + softirq, stolen }
}
