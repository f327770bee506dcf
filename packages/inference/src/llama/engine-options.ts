/** Options of the embedded engine. */
import type { SamplingDefaults } from './scheduling/sampling.ts'

export type EmbeddedModelOptions = {
  /** Path of a GGUF file. */
  readonly path: string
  /** The model's name for callers. */
  readonly id: string
  readonly task: 'generate' | 'embed'
  readonly displayName?: string | undefined
  /** Lower-case hex; a file with another digest is refused. */
  readonly sha256?: string | undefined
  /** Lower-case hex: the file must be on a verity volume with this root hash, which is then its digest. */
  readonly verityRoot?: string | undefined
  /** Tokens of prompt and answer combined; defaults to the model's own length, within the defaults below. */
  readonly contextLength?: number | undefined
  /** How many requests are computed concurrently. */
  readonly sequences?: number | undefined
  /** For requests without sampling options. */
  readonly sampling?: SamplingDefaults | undefined
  /** Whether embeddings may be shortened to fewer dimensions. */
  readonly canShorten?: boolean | undefined
}

export type EmbeddedEngineOptions = {
  readonly models: readonly EmbeddedModelOptions[]
  /** `auto` uses a GPU if its binaries are installed. */
  readonly gpu?: false | 'auto' | undefined
  /** Threads of all models combined; by default one core stays free for everything else. */
  readonly threads?: number | undefined
  /** For the sealed states of all models combined. */
  readonly prefixCacheBytes?: number | undefined
  /** How many requests may wait for each model. */
  readonly maxWaiting?: number | undefined
  readonly maxChoices?: number | undefined
  /** An in-memory folder (tmpfs) through which states are swapped out. */
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
