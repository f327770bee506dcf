/** Images of model servers as OCI layouts: llama-server from Debian's packages, and one that tries to get out. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { makeImage } from '../../scripts/deploy/oci/image.ts'
import { writeArchive } from '../../scripts/deploy/oci/layout.ts'
import type { TarEntry } from '../../scripts/deploy/oci/tar.ts'
import { installLlamaServer } from '../servers/llama-server.ts'

const libraries = '/usr/lib/x86_64-linux-gnu'

/** Returns the path of the program that the image starts. */
export async function writeLlamaServerImage(path: string): Promise<string> {
  write(path, [await systemLayer()], {
    entrypoint: ['/usr/bin/llama-server'],
    // Where it looks for the code of this machine's processor.
    workingDir: `${libraries}/ggml/backends0`,
  })
  return join(await installLlamaServer(), 'usr/bin/llama-server')
}

/** Bun with one program. */
export async function writeHostileImage(path: string, program: string): Promise<void> {
  const file = (name: string, from: string): TarEntry => ({
    ...{ kind: 'file', path: name, mode: 0o755 },
    content: new Uint8Array(readFileSync(from)),
  })
  const own = [file('usr/bin/bun', process.execPath), file('hostile.ts', program)]
  write(path, [await systemLayer(), own], {
    entrypoint: ['/usr/bin/bun', '--no-install', '--no-env-file', '/hostile.ts'],
    workingDir: '/tmp',
  })
}

type How = { readonly entrypoint: readonly string[]; readonly workingDir: string }

function write(path: string, layers: readonly (readonly TarEntry[])[], how: How): void {
  const env = { PATH: '/usr/bin', LD_LIBRARY_PATH: `${libraries}:${libraries}/llama` }
  const image = makeImage(
    // Init does not ask the image for its user.
    { architecture: 'amd64', layers, ...how, env, user: '0', labels: {} },
    0,
  )
  writeArchive(path, [{ image }], 0)
}

async function systemLayer(): Promise<TarEntry[]> {
  const root = await installLlamaServer()
  const entries = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('usr/share/'))
    .map((name) => join(root, name))
    .filter((from) => !lstatSync(from).isDirectory())
    .map((from): TarEntry => {
      const [path, status] = [relative(root, from), lstatSync(from)]
      return status.isSymbolicLink()
        ? { kind: 'link', path, mode: 0o777, to: readlinkSync(from) }
        : { kind: 'file', path, mode: status.mode & 0o777, content: read(from) }
    })
  return [...entries, { kind: 'link', path: 'lib64', mode: 0o777, to: 'usr/lib64' }]
}

const read = (path: string) => new Uint8Array(readFileSync(path))
