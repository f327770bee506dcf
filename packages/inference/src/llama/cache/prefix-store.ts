/** Evaluated prompts that left the context: sealed, found only under their own salt, bounded in size. */
import type { SealedBytes, SealedMemory } from './sealed-memory.ts'

/** Prompts are compared in blocks, by keyed hashes, so the store does not contain their tokens. */
export const blockTokens = 32

export type StoredPrefix = {
  readonly chain: readonly string[]
  readonly sealed: SealedBytes
  wasReused: boolean
}

export class PrefixStore {
  readonly #memory: SealedMemory
  readonly #limitBytes: number
  /** Oldest first: a prefix moves to the end when used. */
  readonly #entries = new Set<StoredPrefix>()
  #bytes = 0

  constructor(memory: SealedMemory, limitBytes: number) {
    this.#memory = memory
    this.#limitBytes = limitBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#entries.size
  }

  /** One name per complete block; each identifies the block and all before it, under this key. */
  chainOf(key: string, tokens: readonly number[]): string[] {
    const chain: string[] = []
    let before = key
    for (let end = blockTokens; end <= tokens.length; end += blockTokens) {
      const block = Uint32Array.from(tokens.slice(end - blockTokens, end))
      before = this.#memory.nameOf(before, new Uint8Array(block.buffer))
      chain.push(before)
    }
    return chain
  }

  /** The stored prefix that shares the most with the chain, at least one block. */
  find(chain: readonly string[]): { prefix: StoredPrefix; sharedTokens: number } | undefined {
    let best: StoredPrefix | undefined
    let most = 0
    for (const entry of this.#entries) {
      const shared = sharedBlocks(entry.chain, chain)
      if (shared > most) {
        most = shared
        best = entry
      }
    }
    return best && { prefix: best, sharedTokens: most * blockTokens }
  }

  /** Whether all blocks of the chain are already stored. */
  covers(chain: readonly string[]): boolean {
    return chain.length > 0 && (this.find(chain)?.sharedTokens ?? 0) === chain.length * blockTokens
  }

  markReused(prefix: StoredPrefix): void {
    prefix.wasReused = true
    if (this.#entries.delete(prefix)) this.#entries.add(prefix)
  }

  add(chain: readonly string[], sealed: SealedBytes): void {
    if (sealed.bytes > this.#limitBytes) return
    let wasReused = false
    for (const entry of this.#entries) {
      if (sharedBlocks(entry.chain, chain) < entry.chain.length) continue
      wasReused ||= entry.wasReused // the same conversation, one turn earlier
      this.remove(entry)
    }
    this.#entries.add({ chain, sealed, wasReused })
    this.#bytes += sealed.bytes
    while (this.#bytes > this.#limitBytes) this.#evict()
  }

  remove(prefix: StoredPrefix): void {
    if (this.#entries.delete(prefix)) this.#bytes -= prefix.sealed.bytes
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  /** Prefixes that were never reused are evicted first, so a flood of fresh salts only evicts itself. */
  #evict(): void {
    const fresh = [...this.#entries].filter((entry) => !entry.wasReused)
    const freshBytes = fresh.reduce((sum, entry) => sum + entry.sealed.bytes, 0)
    const [oldest] = this.#entries
    const [oldestReused] = [...this.#entries].filter((entry) => entry.wasReused)
    const isFreshShareFull = freshBytes > this.#limitBytes / 4
    const victim = (isFreshShareFull ? fresh[0] : oldestReused) ?? oldest
    if (victim !== undefined) this.remove(victim)
  }
}

function sharedBlocks(one: readonly string[], other: readonly string[]): number {
  let shared = 0
  while (shared < one.length && shared < other.length && one[shared] === other[shared]) shared++
  return shared
}
