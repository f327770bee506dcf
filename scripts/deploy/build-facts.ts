/** What is being built: the commit, its time, its version. Nothing else may influence an image. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository, run } from './locked-package.ts'

export type BuildFacts = {
  readonly version: string
  /** The commit, with `-dirty` if the working tree differs from it. */
  readonly revision: string
  /** SOURCE_DATE_EPOCH, or the time of the commit. */
  readonly epochSeconds: number
}

export function readBuildFacts(env: Record<string, string | undefined> = process.env): BuildFacts {
  const root = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    version: string
  }
  const git = (...args: string[]) => run(['git', ...args], { cwd: repository }).trim()
  const dirty = git('status', '--porcelain', '--untracked-files=no') !== ''
  const given = env.SOURCE_DATE_EPOCH
  if (given !== undefined && !/^\d{1,11}$/.test(given)) {
    throw new Error('SOURCE_DATE_EPOCH is not a number of seconds')
  }
  return {
    version: root.version,
    revision: `${git('rev-parse', 'HEAD')}${dirty ? '-dirty' : ''}`,
    epochSeconds: Number(given ?? git('log', '-1', '--format=%ct')),
  }
}
