/** Images that a cluster needs beside ours, out of programs of this machine: pause, PostgreSQL, vLLM or a stand-in for it. */
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
import { type RealVllm, vllmImage } from './real-vllm.ts'

export function makeTestImages(
  folder: string,
  pause: string,
  vllm: RealVllm | undefined,
): TestImage[] {
  return [
    makePostgresImage(folder, 'test'),
    packImage(folder, 'pause', '1', { entries: [file('pause', pause)], entrypoint: ['/pause'] }),
    packImage(
      folder,
      'vllm-openai',
      'v0.32.0',
      vllm === undefined ? standIn(folder) : vllmImage(vllm),
    ),
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
