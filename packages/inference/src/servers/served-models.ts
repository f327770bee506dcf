/** Checks that the weights of a server's models are on the verity volumes that are stated for them. */
import { EngineError } from '../engine.ts'
import { readVerityRoot } from '../verity-root.ts'
import type { ServedModel } from './http-settings.ts'

/** The kernel compares every block with the root hash, for the server as for anyone who reads it. */
export async function requireVolumes(
  served: readonly ServedModel[],
  readRoot = readVerityRoot,
): Promise<void> {
  for (const [index, { id, path, verityRoot }] of served.entries()) {
    if (served.findIndex((other) => other.id === id) !== index)
      throw new EngineError('engine_failed', `the model ${id} is listed twice`)
    if (verityRoot === undefined)
      throw new EngineError('engine_failed', `the model ${id} has no verity_root`)
    if (verityRoot === (await readRoot(path).catch(() => undefined))) continue
    throw new EngineError(
      'engine_failed',
      `${path} is not on a volume with the root hash ${verityRoot}: the model ${id} is not served`,
    )
  }
}
