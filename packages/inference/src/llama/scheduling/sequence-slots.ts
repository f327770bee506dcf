/** The sequences of one context: which prompt each contains, and how a new prompt reuses them. */

import { blockTokens, type PrefixStore, type StoredPrefix } from '../cache/prefix-store.ts'
import type { SealedMemory } from '../cache/sealed-memory.ts'
import { openStateFile } from '../cache/state-file.ts'
import type { NativeContext } from '../model/native-binding.ts'

/** One sequence. `tokens` are those whose state is in the context, in order. */
export type Slot = {
  readonly id: number
  tokens: number[]
  /** Keyed hash of model and salt; undefined if the content no longer belongs to anyone. */
  key: string | undefined
  isBusy: boolean
  usedAt: number
}

export type SlotOptions = {
  readonly count: number
  readonly contextLength: number
  /** False for recurrent models, whose state cannot be truncated. */
  readonly canTrim: boolean
  /** An in-memory folder through which states leave the context; undefined turns that off. */
  readonly stateFolder: string | undefined
}

export type Wanted = {
  readonly tokens: readonly number[]
  readonly key: string
  /** False if every prompt token must be evaluated. */
  readonly mayReuse: boolean
}

/** A prefix that is shared by chance is not worth a copy. */
const leastShared = 16

type Source =
  | { readonly kind: 'slot'; readonly slot: Slot; readonly shared: number }
  | { readonly kind: 'stored'; readonly prefix: StoredPrefix; readonly shared: number }

export class SequenceSlots {
  readonly #native: NativeContext
  readonly #memory: SealedMemory
  readonly #store: PrefixStore
  readonly #options: SlotOptions
  readonly #slots: readonly Slot[]
  #clock = 0

  constructor(
    native: NativeContext,
    memory: SealedMemory,
    store: PrefixStore,
    options: SlotOptions,
  ) {
    this.#native = native
    this.#memory = memory
    this.#store = store
    this.#options = options
    this.#slots = Array.from({ length: options.count }, (_, id) => ({
      id,
      tokens: [],
      key: undefined,
      isBusy: false,
      usedAt: 0,
    }))
  }

  get idle(): number {
    return this.#slots.filter((slot) => !slot.isBusy).length
  }

  /** Takes an idle slot, filled with as much of the prompt as the same salt has already evaluated. */
  async take(wanted: Wanted): Promise<Slot | undefined> {
    const source = wanted.mayReuse ? this.#bestSource(wanted) : undefined
    const target = this.#chooseTarget(source)
    if (target === undefined) return undefined
    target.isBusy = true
    target.usedAt = ++this.#clock
    try {
      const isInPlace = source?.kind === 'slot' && source.slot === target
      if (!isInPlace) {
        await this.#swapOut(target)
        await this.#bringIn(target, source)
      }
      // At least one token must be evaluated, or there is nothing to sample from.
      const shared = source === undefined ? 0 : sharedLength(target.tokens, wanted.tokens)
      this.#trim(target, Math.min(shared, wanted.tokens.length - 1))
    } catch (error) {
      this.release(target, false)
      throw error
    }
    target.key = wanted.key
    return target
  }

  /** Releases a slot; content that may not be reused is erased immediately. */
  release(slot: Slot, keep: boolean): void {
    slot.isBusy = false
    if (!keep) this.clear(slot)
  }

  clear(slot: Slot): void {
    this.#native.disposeSequence(slot.id)
    slot.tokens = []
    slot.key = undefined
  }

  #bestSource({ tokens, key }: Wanted): Source | undefined {
    let best: Source | undefined
    for (const slot of this.#slots) {
      if (slot.key !== key) continue
      const shared = this.#usable(slot.tokens.length, sharedLength(slot.tokens, tokens))
      const isBetter = shared > (best?.shared ?? 0) || (shared === best?.shared && !slot.isBusy)
      if (shared >= leastShared && isBetter) best = { kind: 'slot', slot, shared }
    }
    if (this.#store.size === 0) return best
    const stored = this.#store.find(this.#store.chainOf(key, tokens))
    if (stored !== undefined && stored.sharedTokens > (best?.shared ?? 0) + blockTokens)
      return { kind: 'stored', prefix: stored.prefix, shared: stored.sharedTokens }
    return best
  }

  #usable(length: number, shared: number): number {
    return this.#options.canTrim || shared === length ? shared : 0
  }

  /** Works in place if little is lost by it; otherwise an empty slot, otherwise the least recently used. */
  #chooseTarget(source: Source | undefined): Slot | undefined {
    const idle = this.#slots.filter((slot) => !slot.isBusy)
    const owner = source?.kind === 'slot' && !source.slot.isBusy ? source.slot : undefined
    if (owner !== undefined && source !== undefined) {
      const losesLittle = source.shared * 2 >= owner.tokens.length
      if (losesLittle || idle.length === 1) return owner
    }
    const others = idle.filter((slot) => slot !== owner)
    others.sort((one, other) => one.usedAt - other.usedAt)
    return others.find((slot) => slot.tokens.length === 0) ?? others[0]
  }

  async #bringIn(target: Slot, source: Source | undefined): Promise<void> {
    if (source === undefined) return
    if (source.kind === 'stored') return await this.#swapIn(target, source.prefix)
    const before = source.slot.tokens.length
    await this.#native.copySequenceStateFromOtherSequence(target.id, source.slot.id)
    target.tokens = source.slot.tokens.slice(0, before)
  }

  #trim(slot: Slot, length: number): void {
    if (slot.tokens.length === length) return
    const isTrimmed =
      length > 0 &&
      this.#options.canTrim &&
      this.#native.removeTokenCellsFromSequence(slot.id, length, slot.tokens.length)
    if (isTrimmed) slot.tokens.length = length
    else this.clear(slot)
  }

  /** Seals the slot's state into the store if it is worth keeping; the slot is empty afterwards. */
  async #swapOut(slot: Slot): Promise<void> {
    const { stateFolder } = this.#options
    if (slot.key !== undefined && stateFolder !== undefined) {
      const chain = this.#store.chainOf(slot.key, slot.tokens)
      if (chain.length > 0 && !this.#store.covers(chain)) {
        const file = openStateFile(stateFolder)
        try {
          const tokens = Uint32Array.from(slot.tokens)
          const bytes = await this.#native.saveSequenceStateToFile(file.path, slot.id, tokens)
          this.#store.add(chain, this.#memory.sealFile(file.descriptor, bytes))
        } catch {
          // If there is too little memory for the file, the prompt is simply evaluated again.
        } finally {
          file.close()
        }
      }
    }
    this.clear(slot)
  }

  async #swapIn(slot: Slot, prefix: StoredPrefix): Promise<void> {
    const { stateFolder, contextLength } = this.#options
    if (stateFolder === undefined) return
    const file = openStateFile(stateFolder)
    try {
      this.#memory.openToFile(prefix.sealed, file.descriptor)
      const tokens = await this.#native.loadSequenceStateFromFile(file.path, slot.id, contextLength)
      slot.tokens = Array.from(tokens)
      this.#store.markReused(prefix)
    } catch {
      this.#store.remove(prefix)
      this.clear(slot)
    } finally {
      file.close()
    }
  }
}

function sharedLength(one: readonly number[], other: readonly number[]): number {
  let shared = 0
  while (shared < one.length && shared < other.length && one[shared] === other[shared]) shared++
  return shared
}
