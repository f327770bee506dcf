/** The processes that a process has started, from the kernel's tables (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs'

export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)
}

/** Whether it is there and not merely waiting to be buried. */
export function isAlive(pid: number): boolean {
  return !['', 'Z', 'X'].includes(statOf(pid)[0] ?? '')
}

const parentOf = (pid: number) => Number(statOf(pid)[1])

/** State, parent and so on: what follows the name, which may have spaces. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return [] // it has ended since it was listed
  }
}
