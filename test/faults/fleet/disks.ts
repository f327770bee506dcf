/** Small disks that can be filled, for the files that the parts write. */
import { chmodSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export class Disk {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Leaves not one byte. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.path)
    const piece = Buffer.alloc(Math.min(16 * 1024 * 1024, Math.max(bsize, bavail * bsize)))
    for (let file = 0; file < 1000; file++) {
      try {
        writeFileSync(this.#filler(file), piece.subarray(0, this.#freeBytes() || bsize))
      } catch {
        return // it is full
      }
    }
  }

  free(): void {
    for (let file = 0; file < 1000; file++) rmSync(this.#filler(file), { force: true })
  }

  unmount(): void {
    Bun.spawnSync(['umount', '--lazy', this.path])
  }

  #filler(file: number): string {
    return join(this.path, `filler-${file}`)
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path)
    return bavail * bsize
  }
}

/** A disk of the given size in MiB at a path, or undefined if mounting is not allowed. */
export function mountDisk(path: string, mib: number): Disk | undefined {
  mkdirSync(path, { recursive: true })
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  const options = `size=${mib}m,mode=0755`
  const { exitCode } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', path])
  if (exitCode !== 0) return undefined
  chmodSync(path, 0o755) // PostgreSQL runs as another user
  return new Disk(path)
}
