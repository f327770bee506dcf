/** The processes of this machine, from the kernel's tables (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs'

export type ListedProcess = {
  readonly pid: number
  readonly parent: number
  /** One letter; `Z` is a zombie. */
  readonly state: string
  /** With a space after each. */
  readonly args: string
  /** Processor time of all its threads so far; the kernel counts hundredths of a second. */
  readonly cpuMs: number
}

/** USER_HZ of proc(5), which is 100 wherever Linux runs. */
const ticksPerSecond = 100

export function listProcesses(): ListedProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? [])
}

/** Undefined if it has ended. */
export function readProcess(pid: number): ListedProcess | undefined {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before may have spaces and parentheses of its own.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent] = fields
    const cpuMs = ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
    return { pid, parent: Number(parent), state, args, cpuMs }
  } catch {
    return undefined
  }
}
