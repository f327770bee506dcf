/** The proxy's files: enforced manifests, when each began to be enforced, and the log's last state. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type CheckpointStore, type EnforcedManifest, enforcementLine } from '@privatemode/sdk'
import { ServiceError } from '@privatemode/service'

export type Workspace = {
  readonly checkpoints: CheckpointStore
  /** Stores the manifest's file and appends the line to `manifests/log.txt`. */
  record(enforced: EnforcedManifest): Promise<void>
}

/** Opens the workspace; throws if it is not writable, which would not fix itself later. */
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
      `cannot write to the workspace ${path} as user ${process.getuid?.() ?? 'unknown'}; change its owner (chown) or choose another directory with --workspace`,
      { cause },
    )
  }

  return {
    checkpoints: {
      load: async () => readIfThere(checkpointPath),
      save: async (checkpoint) => {
        const known = readIfThere(checkpointPath)
        if (known !== undefined && Buffer.compare(known, checkpoint) === 0) return
        await writeWhole(checkpointPath, checkpoint).catch(refuse)
      },
    },
    record: (enforced) => record(enforced).catch(refuse),
  }

  async function record({ manifest, fileName, at }: EnforcedManifest): Promise<void> {
    await writeWhole(join(manifests, fileName), manifest.bytes)
    const line = enforcementLine(readFileSync(logPath, 'utf8'), fileName, at)
    if (line !== undefined) appendFileSync(logPath, line)
  }

  /** A manifest that is not recorded is not enforced: nothing is sealed under it until there is space. */
  function refuse(cause: unknown): never {
    const { code } = cause as { code?: unknown }
    const isFull = code === 'ENOSPC' || code === 'EDQUOT'
    const [seen, remedy] = isFull
      ? ['no space is left there', 'free some']
      : [`writing failed with ${code ?? 'an unknown error'}`, 'make it writable']
    const message =
      `the manifest in force cannot be recorded in the workspace ${resolve(path)}: ${seen}; ` +
      `${remedy}, or choose another directory with --workspace`
    throw new ServiceError('file_unwritable', message, { cause })
  }
}

/**
 * A reader sees the old file or the new one, never a part: written to a temporary file, flushed,
 * renamed.
 */
async function writeWhole(path: string, content: Uint8Array): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  try {
    await writeFile(beside, content, { flush: true })
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true }) // a partial file would take what little space is left
    throw error
  }
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error // an unreadable record of the log's state must not count as missing
  }
}
