/** Writes when keys were last used: periodically, all of them in one statement. */
import { describeError, type Log } from '@privatemode/service'
import type { Queries } from '../state/database.ts'
import type { KeyCheck } from './key-check.ts'

const everyMs = 15_000

export function startLastUse(
  database: Queries,
  keys: KeyCheck,
  log: Log,
): { stop(): Promise<void> } {
  const write = async () => {
    const used = keys.takeUsed()
    if (used.size === 0) return
    try {
      await writeLastUse(database, used)
    } catch (error) {
      log.warn('failed to store when keys were last used', describeError(error))
    }
  }
  const timer = setInterval(() => void write(), everyMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await write()
    },
  }
}

export async function writeLastUse(database: Queries, keyIds: Iterable<string>): Promise<void> {
  await database.query(
    `update api_keys set last_used_at = now()
     where id in (select jsonb_array_elements_text($1::jsonb))`,
    [JSON.stringify([...keyIds].toSorted())],
  )
}
