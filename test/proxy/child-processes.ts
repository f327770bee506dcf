/** The processes that a process has started. */
import { listProcesses, readProcess } from '../process-table.ts'

export function childrenOf(parent: number): number[] {
  return listProcesses()
    .filter((one) => one.parent === parent)
    .map(({ pid }) => pid)
}

/** Whether it is running and not a zombie. */
export function isAlive(pid: number): boolean {
  return !['', 'Z', 'X'].includes(readProcess(pid)?.state ?? '')
}
