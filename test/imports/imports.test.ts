import { afterAll, expect, test } from 'bun:test'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const repository = resolve(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'privatemode-imports-'))
for (const name of ['biome.json', 'tsconfig.base.json', 'tsconfig.neutral.json']) {
  cpSync(join(repository, name), join(folder, name))
}
symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
writeFileSync(join(folder, '.gitignore'), 'node_modules\n')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const forbidden: [string, string][] = [
  ['packages/protocol/src/api', '@privatemode/attestation'],
  ['packages/protocol/src/api', '../envelope/index.ts'],
  ['packages/protocol/src/fleet', '../envelope/index.ts'],
  ['packages/protocol/src/fleet', '@privatemode/attestation'],
  ['packages/protocol/src/envelope', '@privatemode/sdk'],
  ['packages/protocol/src/envelope', '@privatemode/attestation'],
  ['packages/protocol/src/envelope', 'node:crypto'],
  ['packages/protocol/src/envelope', '@noble/curves/ed25519.js'],
  ['packages/attestation/src', '@privatemode/protocol/api'],
  ['packages/attestation/src', 'node:crypto'],
  ['packages/http/src', '@privatemode/service'],
  ['packages/http/src', 'undici'],
  ['packages/inference/src/dialects', '@privatemode/service'],
  ['packages/inference/src/llama', '@privatemode/protocol/envelope'],
  ['packages/sdk/src', '@privatemode/service'],
  ['packages/sdk/src', 'bun'],
  ['packages/service/src', '@privatemode/sdk'],
  ['packages/service/src', '@privatemode/protocol/api'],
  ['packages/service/src', '../../protocol/src/api/index.ts'],
  ['apps/gateway/src', '@privatemode/protocol/envelope'],
  ['apps/gateway/src', '@privatemode/sdk'],
  ['apps/gateway/src', '@privatemode/attestation'],
  ['apps/gateway/src', '@privatemode/attestation/software'],
  ['apps/gateway/src', '@privatemode/service/native-crypto'],
  ['apps/gateway/src', '@privatemode/inference'],
  ['apps/gateway/src', '../../../packages/sdk/src/index.ts'],
  ['apps/gateway/src', 'express'],
  ['apps/proxy/src', '@privatemode/attestation'],
  ['apps/proxy/src', '@privatemode/gateway'],
  ['apps/proxy/src', '@privatemode/protocol/envelope'],
  ['apps/worker/src', '@privatemode/sdk'],
  ['apps/worker/src', '@privatemode/sdk/software'],
  ['apps/worker/src', '../../gateway/src/index.ts'],
  ['apps/portal/src', '@privatemode/gateway'],
  ['apps/portal/src', '@privatemode/service'],
  ['apps/verify/src', '@privatemode/inference'],
  ['apps/stack/src', '@privatemode/protocol/envelope'],
  // These have no list: nothing may be imported until there is one.
  ['packages/newcomer/src', '@privatemode/http'],
  ['apps/newcomer/src', 'node:fs'],
]
const allowed: [string, string][] = [
  ['packages/http/src', 'node:fs/promises'],
  ['packages/inference/src/llama', 'node-llama-cpp'],
  ['packages/inference/src/dialects', '@privatemode/protocol/api'],
  ['packages/sdk/src', '@privatemode/attestation'],
  ['packages/service/src', '@privatemode/http'],
  ['apps/gateway/src', '@privatemode/service'],
  ['apps/gateway/src', '@privatemode/protocol/fleet'],
  ['apps/worker/src', '@privatemode/inference/servers'],
]
const globals = [
  'packages/protocol/src/envelope',
  'packages/attestation/src',
  'packages/sdk/src',
].flatMap((part) => ['Buffer', 'Bun', 'process'].map((name): [string, string] => [part, name]))

/** Writes one file for each case; their names are the cases' numbers. */
function write(kind: string, cases: readonly [string, string][], source: (name: string) => string) {
  for (const [index, [part, name]] of cases.entries()) {
    const file = join(folder, part, `${kind}-${index}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, source(name))
  }
}

const importing = (name: string) => `import { x } from '${name}'\n\nexport const y = x\n`
/** The same in the other two ways to import. */
const loading = (name: string) => `export const y = import('${name}')\n`
const exporting = (name: string) => `export { x } from '${name}'\n`
write('forbidden', forbidden, importing)
write('loaded', forbidden, loading)
write('exported', forbidden, exporting)
write('allowed', allowed, importing)
write(
  'attested',
  [['packages/protocol/src/envelope', '@privatemode/attestation']],
  (name) => `import type { AttestedWorker } from '${name}'\n\nexport type A = AttestedWorker\n`,
)
write('global', globals, (name) => `export const a = ${name}\n`)

// One run for all cases: starting the linter costs more than linting.
const biome = join(repository, 'node_modules/.bin/biome')
const linted = Bun.spawnSync(
  [biome, 'lint', '--vcs-enabled=false', '--max-diagnostics=none', '--reporter=json', '.'],
  { cwd: folder },
)
type Diagnostic = { category: string; location: { path: string | { file: string } } }
const { diagnostics } = JSON.parse(linted.stdout.toString()) as { diagnostics: Diagnostic[] }

/** The rules that refuse the file of a case. */
function rulesAgainst(kind: string, index: number): string[] {
  return diagnostics
    .filter(({ location }) => JSON.stringify(location).includes(`${kind}-${index}.ts`))
    .map(({ category }) => category)
}

test.each(forbidden.map(([part, name], index) => [part, name, index] as const))(
  '%s may not import %s',
  (_part, _name, index) => {
    for (const kind of ['forbidden', 'loaded', 'exported']) {
      expect(rulesAgainst(kind, index)).toContain('lint/style/noRestrictedImports')
    }
  },
)

test.each(globals.map(([part, name], index) => [part, name, index] as const))(
  '%s may not use %s',
  (_part, _name, index) => {
    expect(rulesAgainst('global', index)).toContain('lint/style/noRestrictedGlobals')
  },
)

test('what is on the list is accepted', () => {
  for (const index of allowed.keys()) expect(rulesAgainst('allowed', index)).toEqual([])
})

test('from attestation, the envelope may import the type that only the verifier creates', () => {
  expect(rulesAgainst('attested', 0)).toEqual([])
})

test('every package and app has a list of its own', () => {
  const { overrides } = JSON.parse(readFileSync(join(repository, 'biome.json'), 'utf8')) as {
    overrides: { includes: string[] }[]
  }
  const listed = new Set(overrides.flatMap(({ includes }) => includes))
  for (const parent of ['packages', 'apps']) {
    for (const name of readdirSync(join(repository, parent))) {
      expect(listed).toContain(`${parent}/${name}/src/**`)
    }
  }
})

test('the compiler knows no Node and no Bun in the neutral packages', () => {
  rmSync(join(folder, 'packages'), { recursive: true })
  mkdirSync(join(folder, 'packages/sdk/src'), { recursive: true })
  for (const [index, source] of ['export const a = Buffer\n', "import 'node:fs'\n"].entries()) {
    writeFileSync(join(folder, 'packages/sdk/src', `compiled-${index}.ts`), source)
  }
  const tsc = join(repository, 'node_modules/.bin/tsc')
  const run = Bun.spawnSync([tsc, '-p', 'tsconfig.neutral.json'], { cwd: folder })
  for (const index of [0, 1]) expect(run.stdout.toString()).toContain(`compiled-${index}.ts`)
}, 240_000)
