/** The scripted model server's prefix cache. */
import type { JsonObject } from '../engine.ts'

/** Only complete cache blocks are shared, as in real servers. */
const cacheBlock = 16

/** The prompts seen so far, by salt: the real ones, and those that a lying server reports. */
export type PromptCaches = { readonly [which in 'true' | 'told']: Map<string, string[][]> }

export function lookUp(
  prompt: readonly string[],
  body: JsonObject,
  cache: 'salted' | 'shared' | 'none',
  seen: Map<string, string[][]>,
): number {
  if (cache === 'none' || body.cache_prompt === false) return 0
  const key = cache === 'salted' ? String(body.cache_salt ?? '') : ''
  const known = seen.get(key) ?? []
  const common = Math.max(0, ...known.map((one) => commonPrefix(one, prompt)))
  seen.set(key, [...known, [...prompt]].slice(-64))
  // The last token is always computed, or there would be nothing to continue from.
  return Math.floor(Math.min(common, prompt.length - 1) / cacheBlock) * cacheBlock
}

function commonPrefix(a: readonly string[], b: readonly string[]): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
