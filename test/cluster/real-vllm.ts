/**
 * A real vLLM in the cluster. Its packages take gigabytes, which as an image would be in the registry and on the node
 * once more, so they come with the volume of the models; the image has what the loader needs and a name for each program.
 */
import { cpSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { run } from '../../scripts/deploy/locked-package.ts'
import type { Parts } from '../confined/parts.ts'
import {
  file,
  filesBelow,
  type ImageFiles,
  librariesOf,
  link,
  text,
} from '../confined/program-image.ts'
import { cpuEnvironment, modelFolder } from '../servers/vllm.ts'

export type RealVllm = {
  readonly version: string
  /** Folders of the environment, and of the Python that it was made with. */
  readonly environment: string
  readonly base: string
  /** The interpreter's name in `bin`. */
  readonly python: string
}

/** Where the chart mounts the volume. */
const mounted = '/models'

/** What it asks for the processors of a node. */
const tools = ['/bin/sh', '/usr/bin/lscpu']

/** `program` is the `vllm` of an environment, as `test:servers` installs it. */
export function findVllm(program: string): RealVllm {
  const environment = resolve(program, '../..')
  const code =
    'import importlib.metadata as m, sys; print(m.version("vllm"), sys.base_prefix, *sys.version_info[:2])'
  const said = run([join(environment, 'bin/python'), '-c', code])
    .trim()
    .split(' ')
  const [version = '', base = '', major, minor] = said
  return { version, environment, base, python: `python${major}.${minor}` }
}

export function vllmImage({ environment, base, python }: RealVllm): ImageFiles {
  const packages = filesBelow(join(environment, 'lib', python))
  const programs = [
    ...[join(base, 'bin', python), ...tools],
    ...filesBelow(join(base, 'lib', python, 'lib-dynload')),
    ...packages.filter((path) => /\.so(\.\d+)*$/.test(path)),
  ]
  // Its processes read this file as well.
  const start = `#!${mounted}/bin/${python}
from vllm.entrypoints.cli.main import main
if __name__ == "__main__":
    main()
`
  return {
    entries: [
      { ...text('usr/bin/vllm', start), mode: 0o755 },
      link('usr/bin/python3', `${mounted}/bin/${python}`),
      ...tools.map((path) => file(path.slice(1), path)),
      ...librariesOf(programs).filter(({ path }) => !`/${path}`.startsWith(environment)),
    ],
    entrypoint: ['/usr/bin/vllm'],
    env: { ...cpuEnvironment, PYTHONDONTWRITEBYTECODE: '1' },
  }
}

/**
 * The model, the packages and the interpreter as one folder that nobody can write to. The environment's packages hide
 * those of the Python that it was made with; its own interpreter is a link that leads out of the folder.
 */
export function mountModels(
  parts: Parts,
  { environment, base, python }: RealVllm,
  folder: string,
): void {
  const own = parts.folder('models')
  cpSync(modelFolder, join(own, 'chat'), { recursive: true })
  cpSync(join(base, 'bin', python), join(own, 'bin', python))
  parts.write('models/pyvenv.cfg', `home = ${mounted}/bin\n`)
  run([
    ...['mount', '-t', 'overlay', 'overlay', '-o', `ro,lowerdir=${own}:${environment}:${base}`],
    folder,
  ])
}
