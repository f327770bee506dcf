/** The emulator that the machine boots in: Debian's, pinned and run by its own loader, or one of your own. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type DebianPackage, fetchPackage } from '../../scripts/deploy/debian-root.ts'
import { toolCache } from '../../scripts/deploy/go-tools.ts'

export type Qemu = {
  /** The program with the arguments that it needs to find its own files. */
  readonly command: readonly string[]
  readonly version: string
}

/** Nothing is installed: the pinned packages are unpacked into the cache, once. */
export async function obtainQemu(own: string | undefined): Promise<Qemu> {
  const command = own === undefined ? await pinnedCommand() : [own]
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command, '--version'])
  const version = /version (\S+)/.exec(stdout.toString())?.[1]
  if (exitCode === 0 && version !== undefined) return { command, version }
  throw new Error(`${command.join(' ')} does not run: ${stderr.toString().trim()}`)
}

async function pinnedCommand(): Promise<string[]> {
  const root = await unpackPinned()
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu')
  return [
    ...[join(libraries, 'ld-linux-x86-64.so.2'), '--library-path', libraries],
    ...[join(root, 'usr/bin/qemu-system-x86_64'), '-L', join(root, 'usr/share/qemu')],
  ]
}

async function unpackPinned(): Promise<string> {
  const text = readFileSync(new URL('qemu-packages.json', import.meta.url), 'utf8')
  const { mirror, packages } = JSON.parse(text) as {
    readonly mirror: string
    readonly packages: readonly DebianPackage[]
  }
  const pins = createHash('sha256').update(packages.map(({ sha256 }) => sha256).join())
  const root = join(toolCache(), `qemu-${pins.digest('hex').slice(0, 12)}`)
  if (existsSync(root)) return root
  const unfinished = `${root}.${process.pid}.new`
  mkdirSync(unfinished, { recursive: true })
  try {
    for (const entry of packages) {
      const archive = await fetchPackage(entry, mirror)
      const { exitCode, stderr } = Bun.spawnSync(['dpkg-deb', '-x', archive, unfinished])
      if (exitCode !== 0) throw new Error(`${archive} cannot be unpacked: ${stderr}`)
    }
    renameSync(unfinished, root)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return root
}
