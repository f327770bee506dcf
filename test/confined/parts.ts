/** Programs that a test starts in its namespaces: each writes a log, and ends with them. */
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The test's folder, and what runs in it. */
export class Parts {
  readonly work: string
  readonly started: string[] = []

  constructor(work: string) {
    this.work = work
  }

  folder(name: string): string {
    mkdirSync(join(this.work, name), { recursive: true })
    return join(this.work, name)
  }

  write(name: string, text: string): string {
    const path = join(this.work, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  start(name: string, command: readonly string[]): void {
    const file = openSync(join(this.folder('logs'), `${name}.log`), 'w')
    Bun.spawn([...command], { stdin: 'ignore', stdout: file, stderr: file })
    closeSync(file)
    this.started.push(name)
  }

  logOf(name: string): string {
    return readFileSync(join(this.work, 'logs', `${name}.log`), 'utf8').slice(-3000)
  }
}

export async function untilReady(
  what: string,
  isReady: () => Promise<boolean> | boolean,
  limitMs = 120_000,
): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await isReady())) {
    if (performance.now() > endMs) throw new Error(`${what}: not ready within ${limitMs / 1000} s`)
    await Bun.sleep(250)
  }
}
