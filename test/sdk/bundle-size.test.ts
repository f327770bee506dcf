import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import {
  bundle,
  type Imported,
  imports,
  limits,
  sizeFault,
} from '../../packages/sdk/bundle-size.ts'

for (const [name, source] of Object.entries(imports) as [Imported, string][]) {
  test(`a bundle with ${name} stays under ${limits[name].budget / 1000} kB compressed`, async () => {
    const { minifiedBytes, compressedBytes } = await bundle(source)
    console.log(`  ${name}: ${compressedBytes} bytes compressed, ${minifiedBytes} minified`)
    expect(sizeFault(name, compressedBytes)).toBeUndefined()
  })
}

test('growth is refused, and so is a bundle over its budget', () => {
  const { recorded } = limits['all hardware']
  expect(sizeFault('core', limits.core.recorded)).toBeUndefined()
  expect(sizeFault('core', 38_000)).toContain('over the budget of 38000')
  expect(sizeFault('all hardware', recorded * 1.02)).toBeUndefined()
  expect(sizeFault('all hardware', 69_500)).toBe(
    `all hardware: grew from ${recorded} to 69500 bytes; if that is intended, record the new size`,
  )
  const [core, all] = [limits.core.budget, limits['all hardware and software'].budget]
  expect([core, all]).toEqual([38_000, 71_000])
})

test('the sizes in the documentation are those recorded here', () => {
  const documented = readFileSync(new URL('../../docs/sdk.md', import.meta.url), 'utf8')
  for (const [name, { budget, recorded }] of Object.entries(limits)) {
    const row = documented.match(
      new RegExp(`^\\| ${name}(?::.*?)? \\| ([\\d ]+) \\| ([\\d ]+) \\|$`, 'm'),
    )
    const [told, limit] = [row?.[1], row?.[2]].map((text) => Number(text?.replaceAll(' ', '')))
    expect(limit).toBe(budget)
    expect(Math.abs((told ?? 0) - recorded)).toBeLessThan(recorded * 0.01)
  }
})

test('a production bundle does not contain the verifier of software evidence', async () => {
  // A check of the verifier itself, and one of the code around it that every client has.
  const withSoftware = await bundle(imports['all hardware and software'])
  expect(withSoftware.code).toContain('software/report-signature')
  const production = await bundle(imports['all hardware'])
  expect(production.code).toContain('binding/report-data')
  expect(production.code).toContain('snp/report-signature')
  expect(production.code).not.toContain('software/report-signature')
})

test('a core bundle contains no verifier that it does not import', async () => {
  const core = await bundle(imports.core)
  expect(core.code).not.toContain('snp/report-signature')
  const snp = await bundle(imports['core and SEV-SNP'])
  expect(snp.code).toContain('snp/report-signature')
  expect(snp.code).not.toContain('tdx/')
})

/** In no version of Safari before 17.4, by the tables of MDN; what is asked for before it is used is not here. */
const tooNew = [
  ...[
    'Promise.withResolvers',
    'Promise.try',
    'AbortSignal.any',
    'ReadableStream.from',
    'for await',
  ],
  ...['Object.groupBy', 'Map.groupBy', 'Iterator.from', 'Symbol.dispose', 'Symbol.asyncDispose'],
  ...['fromBase64', 'RegExp.escape', 'Error.isError', '.transfer('],
  ...['ML-KEM-768'], // of WebCrypto, which few have: ours is a library
]

test('the package uses nothing that Safari 17 does not have', async () => {
  const { code } = await bundle(imports['all hardware and software'])
  expect(tooNew.filter((name) => code.includes(name))).toEqual([])
})
