/** The drivers that the machine loads, decompressed, each after the drivers it depends on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Package } from './packages.ts'

/** The image contains no other driver, so none can be loaded. */
const wanted = [
  'virtio_blk',
  'virtio_net',
  'dm-verity',
  'erofs',
  'nf_tables',
  'nft_ct',
  'sev-guest',
  'tdx-guest',
]

export type KernelModule = {
  readonly name: string
  readonly from: string
  readonly content: Uint8Array
}

export function collectModules(kernel: Package): KernelModule[] {
  const paths = new Map(
    kernel
      .paths()
      .filter((path) => path.endsWith('.ko.xz'))
      .map((path) => [spelled(basename(path, '.ko.xz')), path]),
  )
  const loaded = new Map<string, KernelModule>()
  const visit = (name: string) => {
    const key = spelled(name)
    if (loaded.has(key)) return
    const from = paths.get(key)
    if (from === undefined) throw new Error(`the kernel package has no module ${name}`)
    const content = decompress(kernel.file(from))
    for (const dependency of dependenciesOf(content)) visit(dependency)
    loaded.set(key, { name: basename(from, '.ko.xz'), from, content })
  }
  for (const name of wanted) visit(name)
  return [...loaded.values()]
}

const spelled = (name: string) => name.replaceAll('-', '_')

/** The signature of the distribution is at the end of the decompressed module. */
function decompress(bytes: Uint8Array): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-module-'))
  const path = join(folder, 'module.xz')
  writeFileSync(path, bytes)
  const { exitCode, stdout } = Bun.spawnSync(['xz', '-dc', path])
  rmSync(folder, { recursive: true, force: true })
  if (exitCode !== 0) throw new Error('a kernel module cannot be decompressed')
  if (!stdout.subarray(-28).toString('latin1').includes('~Module signature appended~')) {
    throw new Error('a kernel module is not signed')
  }
  return new Uint8Array(stdout)
}

/** `depends=` in the module's own information. */
function dependenciesOf(module: Uint8Array): string[] {
  const text = Buffer.from(module).toString('latin1')
  const list = /\0depends=([^\0]*)\0/.exec(text)?.[1] ?? ''
  return list.split(',').filter((name) => name !== '')
}
