/** Two builds of the worker that differ in their measurement, each from a source tree of its own. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { appTreeEntries } from '../../scripts/deploy/app-tree.ts'
import { imageTrees } from '../../scripts/deploy/images.ts'
import { run } from '../../scripts/deploy/locked-package.ts'
import { writeTar } from '../../scripts/deploy/oci/tar.ts'
import { type RunningProgram, startProgram } from './running-program.ts'

export type WorkerBuild = {
  readonly measurement: string
  readonly models: readonly object[]
  readonly command: readonly string[]
  start(args: readonly string[]): Promise<RunningProgram>
  remove(): void
}

/** The worker's files as its image has them; another build has one more line. */
export async function makeBuild(name: string, engineUrl: string): Promise<WorkerBuild> {
  const folder = mkdtempSync(join(tmpdir(), `privatemode-build-${name}-`))
  const archive = join(folder, 'app.tar')
  writeFileSync(archive, writeTar(appTreeEntries(imageTrees['privatemode-worker']), 0))
  run(['tar', '-xf', archive, '-C', folder])
  appendFileSync(join(folder, 'app/apps/worker/src/worker-error.ts'), `// build ${name}\n`)
  const command = [process.execPath, '--no-install', join(folder, 'app/apps/worker/src/main.ts')]
  const engine = ['--engineUrl', engineUrl]
  // Not run to its end at once: the model server that it asks may live in this very process.
  const [described] = await startProgram([...command, 'describe', ...engine]).until(/^\{.*\}$/m)
  const { measurement, models } = JSON.parse(described)
  return {
    measurement,
    models,
    command,
    async start(args) {
      const program = startProgram([...command, ...engine, ...args])
      await program.until(/worker is ready/)
      return program
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
