/** The frame of a command that works in a temporary folder and in namespaces: both end with it, also on Ctrl-C. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanUpOnSignal } from '../clean-up.ts'
import { type Confined, startConfined } from './confinement.ts'

export type Work = {
  readonly folder: string
  /** Runs a program in namespaces of its own to its end, and returns its exit code. */
  confine(command: string[], env: Record<string, string>): Promise<number>
}

/** Ends the process with the exit code that `main` returns. */
export async function runInWorkFolder(
  name: string,
  main: (work: Work) => Promise<number>,
): Promise<never> {
  const folder = mkdtempSync(join(tmpdir(), `privatemode-${name}-`))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  let confined: Confined | undefined
  cleanUpOnSignal(async () => {
    await confined?.end()
    remove()
  })
  const confine = async (command: string[], env: Record<string, string>) => {
    confined = startConfined(command, env)
    const code = await confined.exited
    await confined.end()
    return code
  }
  let code = 1
  try {
    code = await main({ folder, confine })
  } finally {
    remove()
  }
  process.exit(code)
}
