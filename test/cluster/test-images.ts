/** Images that a cluster needs beside ours, out of programs of this machine: pause, PostgreSQL, a stand-in for vLLM. */
import { join } from 'node:path'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import {
  file,
  type ImageFiles,
  librariesOf,
  link,
  packImage,
  type TestImage,
} from '../confined/program-image.ts'
import { makePostgresImage } from '../containers/postgres-image.ts'

export const standInName = 'vllm-openai'

export function makeTestImages(folder: string, pause: string): TestImage[] {
  return [
    makePostgresImage(folder, 'test'),
    packImage(folder, 'pause', '1', { entries: [file('pause', pause)], entrypoint: ['/pause'] }),
    packImage(folder, standInName, 'v0.32.0', standIn(folder)),
  ]
}

/** One program under both names that the chart starts. */
function standIn(folder: string): ImageFiles {
  const program = join(folder, 'vllm')
  run(
    [
      ...[process.execPath, 'build', '--compile', '--no-compile-autoload-dotenv'],
      ...['--no-compile-autoload-bunfig', 'test/cluster/stand-in-vllm.ts', '--outfile', program],
    ],
    { cwd: repository },
  )
  return {
    entries: [
      file('usr/bin/vllm', program),
      link('usr/bin/python3', 'vllm'),
      ...librariesOf([program]),
    ],
    entrypoint: ['/usr/bin/vllm'],
  }
}
