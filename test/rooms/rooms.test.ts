import { afterAll, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const repository = resolve(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'privatemode-rooms-'))
for (const name of ['biome.json', 'tsconfig.base.json', 'tsconfig.neutral.json']) {
  cpSync(join(repository, name), join(folder, name))
}
symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
writeFileSync(join(folder, '.gitignore'), 'node_modules\n')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const forbidden: [string, string][] = [
  ['apps/gateway/src', '@privatemode/protocol/envelope'],
  ['apps/gateway/src', '@privatemode/sdk'],
  ['apps/gateway/src', '@privatemode/attestation'],
  ['apps/proxy/src', '@privatemode/attestation'],
  ['apps/proxy/src', '@privatemode/gateway'],
  ['apps/worker/src', '@privatemode/sdk'],
  ['apps/worker/src', '@privatemode/sdk/software'],
  ['apps/gateway/src', '@privatemode/attestation/software'],
  ['packages/protocol/src/api', '@privatemode/attestation'],
  ['apps/portal/src', '@privatemode/gateway'],
  ['packages/protocol/src/api', '../envelope/index.ts'],
  ['packages/protocol/src/envelope', '@privatemode/sdk'],
  ['packages/attestation/src', '@privatemode/protocol/api'],
  ['packages/sdk/src', '@privatemode/service'],
  ['packages/service/src', '@privatemode/sdk'],
  ['packages/protocol/src/envelope', 'node:crypto'],
  ['packages/attestation/src', 'node:crypto'],
  ['packages/sdk/src', 'bun'],
]
const allowed: [string, string][] = [
  ['apps/gateway/src', '@privatemode/service'],
  ['packages/sdk/src', '@privatemode/attestation'],
]
const globals = [
  'packages/protocol/src/envelope',
  'packages/attestation/src',
  'packages/sdk/src',
].flatMap((room) => ['Buffer', 'Bun', 'process'].map((name): [string, string] => [room, name]))

/** Writes one file for each case; their names are the cases' numbers. */
function write(kind: string, cases: readonly [string, string][], source: (name: string) => string) {
  for (const [index, [room, name]] of cases.entries()) {
    const file = join(folder, room, `${kind}-${index}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, source(name))
  }
}

const importing = (name: string) => `import { x } from '${name}'\n\nexport const y = x\n`
write('forbidden', forbidden, importing)
write('allowed', allowed, importing)
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

test.each(forbidden.map(([room, name], index) => [room, name, index] as const))(
  '%s may not import %s',
  (_room, _name, index) => {
    expect(rulesAgainst('forbidden', index)).toContain('lint/style/noRestrictedImports')
  },
)

test.each(globals.map(([room, name], index) => [room, name, index] as const))(
  '%s may not use %s',
  (_room, _name, index) => {
    expect(rulesAgainst('global', index)).toContain('lint/style/noRestrictedGlobals')
  },
)

test('an import in the right direction is accepted', () => {
  for (const index of allowed.keys()) expect(rulesAgainst('allowed', index)).toEqual([])
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
}, 90_000)
