/** Builds a verity volume from a model server's OCI image, with what its configuration says about running it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type MachineServer, serverMounts, volumeLabels } from '@privatemode/machine'
import { type ErofsEntry, writeErofs } from './erofs.ts'
import { readOciImage } from './oci-image.ts'
import { applyLayers } from './oci-tree.ts'
import { appendVerity } from './verity.ts'

export type ServerSource = {
  /** An OCI layout: a folder or a tar archive. */
  readonly layout: string
  readonly image?: string | undefined
  readonly out: string
}

export async function buildServer({ layout, image, out }: ServerSource): Promise<MachineServer> {
  mkdirSync(dirname(out), { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'privatemode-server-'))
  try {
    const { digest, process, layers } = await readOciImage(layout, work, image)
    await writeErofs(out, volumeLabels.server, withMountPoints(applyLayers(layers)))
    const volume = { label: volumeLabels.server, ...appendVerity(out, volumeLabels.server) }
    return { image: digest, volume, ...process }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** A read-only root cannot be given folders when something is mounted on it. */
function withMountPoints(entries: readonly ErofsEntry[]): ErofsEntry[] {
  const found = new Map(entries.map((entry) => [entry.path, entry]))
  const added = serverMounts
    .map((path) => path.slice(1))
    .filter((path) => found.get(path)?.kind !== 'folder')
  for (const path of added) {
    if (found.has(path)) throw new Error(`/${path} of the image is not a folder`)
  }
  return [...entries, ...added.map((path) => ({ kind: 'folder' as const, path, mode: 0o555 }))]
}
