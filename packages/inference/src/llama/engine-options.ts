/** What the embedded engine can be told. */
import type { SamplingDefaults } from './scheduling/sampling.ts'

export type EmbeddedModelOptions = {
  /** Path of a GGUF file. */
  readonly path: string
  /** The name under which callers know the model. */
  readonly id: string
  readonly task: 'generate' | 'embed'
  readonly displayName?: string | undefined
  /** Lower-case hex; a file with another digest is refused. */
  readonly sha256?: string | undefined
  /** Lower-case hex: the file must be on a verity volume with this root hash, which is then its digest. */
  readonly verityRoot?: string | undefined
  /** Tokens of prompt and answer together; unless told the model's own length, within the defaults below. */
  readonly contextLength?: number | undefined
  /** Requests that are computed at the same time. */
  readonly sequences?: number | undefined
  /** For requests that say nothing about sampling. */
  readonly sampling?: SamplingDefaults | undefined
  /** Embeddings may be cut to fewer dimensions. */
  readonly canShorten?: boolean | undefined
}

export type EmbeddedEngineOptions = {
  readonly models: readonly EmbeddedModelOptions[]
  /** `auto` takes a GPU where its binaries are installed. */
  readonly gpu?: false | 'auto' | undefined
  /** Threads of all models together; one core stays free for everything else unless told. */
  readonly threads?: number | undefined
  /** Sealed states of all models together. */
  readonly prefixCacheBytes?: number | undefined
  /** Requests that may wait for each model. */
  readonly maxWaiting?: number | undefined
  readonly maxChoices?: number | undefined
  /** A folder in memory (tmpfs), through which states are swapped out. */
  readonly stateFolder?: string | undefined
}

export const engineDefaults = {
  contextLength: { generate: 8192, embed: 2048 },
  sequences: 4,
  prefixCacheBytes: 128 << 20,
  maxWaiting: 64,
  maxChoices: 8,
  stateFolder: '/dev/shm',
} as const
