/** The proxy's files: enforced manifests, when each began to be enforced, and the last state of the manifest log. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CheckpointStore, type EnforcedManifest, enforcementLine } from '@privatemode/sdk'
import { ServiceError } from '@privatemode/service'

export type Workspace = {
  readonly checkpoints: CheckpointStore
  /** Keeps the manifest's file and adds the line to `manifests/log.txt`. */
  record(enforced: EnforcedManifest): Promise<void>
}

/** Opens the workspace; throws when it cannot be written, which no later moment could mend. */
export function openWorkspace(path: string): Workspace {
  const manifests = join(path, 'manifests')
  const logPath = join(manifests, 'log.txt')
  const checkpointPath = join(manifests, 'checkpoint')
  try {
    mkdirSync(manifests, { recursive: true })
    appendFileSync(logPath, '')
  } catch (cause) {
    throw new ServiceError(
      'file_unreadable',
      `the workspace ${path} cannot be written; choose another directory with --workspace or grant the right`,
      { cause },
    )
  }

  return {
    checkpoints: {
      load: async () => readIfThere(checkpointPath),
      save: async (checkpoint) => {
        const known = readIfThere(checkpointPath)
        if (known !== undefined && Buffer.compare(known, checkpoint) === 0) return
        await writeWhole(checkpointPath, checkpoint)
      },
    },
    async record({ manifest, fileName, at }) {
      await writeWhole(join(manifests, fileName), manifest.bytes)
      const line = enforcementLine(readFileSync(logPath, 'utf8'), fileName, at)
      if (line !== undefined) appendFileSync(logPath, line)
    },
  }
}

/** A reader sees the old file or the new one, never a part: written beside it, flushed and renamed. */
async function writeWhole(path: string, content: Uint8Array): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  await writeFile(beside, content, { flush: true })
  await rename(beside, path)
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error // a memory of the log that is there and unreadable must not be taken for none
  }
}
