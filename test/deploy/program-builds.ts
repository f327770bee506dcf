/** Builds of gateway, worker and proxy that replace one another: an older one if available, and this one. */
import { join } from 'node:path'
import { repository } from '../../scripts/deploy/locked-package.ts'
import type { OlderTree } from './older-build.ts'
import { startProgram } from './running-program.ts'
import { makeBuild } from './worker-builds.ts'

export type ProgramBuild = {
  /** What a manifest must list so that its workers are accepted. */
  readonly measurement: string
  readonly models: readonly object[]
  command(app: 'gateway' | 'worker' | 'proxy'): readonly string[]
  remove(): void
}

type Command = ProgramBuild['command']

const commandIn =
  (bun: string, folder: string): Command =>
  (app) => [bun, '--no-install', join(folder, 'apps', app, 'src', 'main.ts')]

const currentCommand = commandIn(process.execPath, repository)

export const currentBuild = (engineUrl: string) => describe(currentCommand, engineUrl)

/** Without an older tree, a worker of the same source with one line more; gateway and proxy are then the same. */
export async function olderBuild(older: OlderTree, engineUrl: string): Promise<ProgramBuild> {
  if (older.kind === 'found') return describe(commandIn(older.bun, older.folder), engineUrl)
  const worker = await makeBuild('old', engineUrl)
  const command: Command = (app) => (app === 'worker' ? worker.command : currentCommand(app))
  return { ...worker, command }
}

/** Asks the worker; not run to its end at once: the model server that it asks may live in this very process. */
async function describe(command: Command, engineUrl: string): Promise<ProgramBuild> {
  const asked = startProgram([...command('worker'), 'describe', '--engineUrl', engineUrl])
  const [described] = await asked.until(/^\{.*\}$/m)
  return { ...JSON.parse(described), command, remove: () => {} }
}
