/** What each import adds to an application's bundle: sizes, and the code itself. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const sources = fileURLToPath(new URL('src', import.meta.url))

/** Imports as applications write them, smallest first. */
export const imports = {
  core: "export { CorePrivatemode } from '@privatemode/sdk/core'",
  'core and software': `export { CorePrivatemode } from '@privatemode/sdk/core'
    export { acceptSoftware } from '@privatemode/sdk/software'`,
  'core and SEV-SNP': "export { CorePrivatemode, snpVerifier } from '@privatemode/sdk/core'",
  'core and TDX': "export { CorePrivatemode, tdxVerifier } from '@privatemode/sdk/core'",
  'all hardware': "export { Privatemode } from '@privatemode/sdk'",
  'all hardware and software': `export { Privatemode } from '@privatemode/sdk'
    export { acceptSoftware } from '@privatemode/sdk/software'`,
} as const

export type Imported = keyof typeof imports

/** Compressed bytes: the budget, and the size at the last deliberate change. */
export const limits: Readonly<Record<Imported, { budget: number; recorded: number }>> = {
  core: { budget: 38_000, recorded: 37_957 },
  'core and software': { budget: 44_000, recorded: 42_468 },
  'core and SEV-SNP': { budget: 50_000, recorded: 48_116 },
  'core and TDX': { budget: 52_000, recorded: 49_898 },
  'all hardware': { budget: 70_000, recorded: 66_789 },
  'all hardware and software': { budget: 71_000, recorded: 67_601 },
}

/** Why a size is refused: it exceeds the budget, or grew by 3 % unnoticed. */
export function sizeFault(name: Imported, compressedBytes: number): string | undefined {
  const { budget, recorded } = limits[name]
  if (compressedBytes >= budget) return `${name}: over the budget of ${budget} bytes`
  if (compressedBytes < recorded * 1.03) return undefined
  return `${name}: grew from ${recorded} to ${compressedBytes} bytes; if that is intended, record the new size`
}

export type Bundled = {
  readonly code: string
  readonly minifiedBytes: number
  readonly compressedBytes: number
}

export async function bundle(source: string): Promise<Bundled> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-size-'))
  try {
    const entry = join(folder, 'entry.ts')
    const located = source.replace(/@privatemode\/sdk(\/\w+)?/g, (_, path = '/index') =>
      join(sources, `${path}.ts`),
    )
    writeFileSync(entry, located)
    const { outputs } = await Bun.build({ entrypoints: [entry], target: 'browser', minify: true })
    const code = (await outputs[0]?.text()) ?? ''
    const compressedBytes = Bun.gzipSync(new TextEncoder().encode(code), { level: 9 }).length
    return { code, minifiedBytes: code.length, compressedBytes }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
