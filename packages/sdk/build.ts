/** Builds the npm package in `dist`: modules with types, and minified files for browsers. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, type Imported, imports, limits, sizeFault } from './bundle-size.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
const packages = ['sdk', 'protocol', 'attestation'] as const
/** The package's exports: each entry's name and its file in `dist`. */
const entries = {
  '.': 'index',
  './anthropic': 'anthropic',
  './badge': 'badge',
  './canary': 'canary/index',
  './chain': 'chain',
  './core': 'core',
  './openai': 'openai',
  './software': 'software',
} as const
/** Peer ranges of the official clients, for users of `openai` or `anthropic`: the tested versions. */
const peers = { '@anthropic-ai/sdk': '>=0.137.0 <2', openai: '^7.0.0' } as const
/** Imports across packages become imports across folders, since one tarball contains them all. */
const folders: Readonly<Record<string, string>> = {
  '@privatemode/attestation': 'attestation/index',
  '@privatemode/attestation/software': 'attestation/software/index',
  '@privatemode/protocol/api': 'protocol/api/index',
  '@privatemode/protocol/envelope': 'protocol/envelope/index',
  '@privatemode/protocol/fleet': 'protocol/fleet/index',
}

type PackageFile = {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** Builds into `target`, which is emptied first, and returns its path. */
export async function buildPackage(target = join(here, 'dist')): Promise<string> {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  compile(target)
  for (const name of packages) liftSources(target, name)
  for (const path of listFiles(target)) rewriteImports(target, path)
  await bundleForBrowsers(join(target, 'browser'))
  const description = JSON.stringify(describePackage(), null, 2)
  writeFileSync(join(target, 'package.json'), `${description}\n`)
  for (const [from, to] of [
    [join(root, 'LICENSE'), 'LICENSE'],
    [join(here, 'README.md'), 'README.md'],
  ] as const) {
    writeFileSync(join(target, to), readFileSync(from))
  }
  return target
}

function compile(target: string): void {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const args = ['-p', join(here, 'tsconfig.build.json'), '--outDir', target]
  const { exitCode, stdout } = Bun.spawnSync(['node', tsc, ...args], { stderr: 'inherit' })
  if (exitCode !== 0) throw new Error(`the compiler failed: ${stdout}`)
}

/** `sdk/src/x.js` becomes `sdk/x.js`. */
function liftSources(target: string, name: string): void {
  const folder = join(target, name)
  const lifted = `${folder}.lifted`
  renameSync(join(folder, 'src'), lifted)
  rmSync(folder, { recursive: true })
  renameSync(lifted, folder)
}

function rewriteImports(target: string, path: string): void {
  const text = readFileSync(path, 'utf8')
  const rewritten = text.replace(
    /(from |import\()(['"])([^'"]+)\2/g,
    (whole, start, quote, name) => {
      const inside = folders[name]
      if (inside !== undefined)
        return `${start}${quote}${fromTo(path, join(target, inside))}.js${quote}`
      // The compiler rewrites relative specifiers in modules but not in declarations.
      return name.startsWith('.')
        ? `${start}${quote}${name.replace(/\.ts$/, '.js')}${quote}`
        : whole
    },
  )
  writeFileSync(path, rewritten)
}

function fromTo(file: string, to: string): string {
  const path = relative(dirname(file), to)
  return path.startsWith('.') ? path : `./${path}`
}

/** Shared code goes into separate chunks, so that both entries know the same verified workers. */
async function bundleForBrowsers(target: string): Promise<void> {
  const built = await Bun.build({
    entrypoints: ['index', 'software', 'badge'].map((name) => join(here, 'src', `${name}.ts`)),
    outdir: target,
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { chunk: 'shared-[hash].js' },
  })
  if (!built.success) throw new Error('the bundler failed')
}

function describePackage(): object {
  const [sdk, protocol] = [readPackage('sdk'), readPackage('protocol')]
  const outside = { ...protocol.dependencies, ...sdk.dependencies }
  const dependencies = Object.entries(outside).filter(([name]) => !name.startsWith('@privatemode/'))
  const exported = Object.entries(entries).map(([entry, name]) => {
    return [entry, { types: `./sdk/${name}.d.ts`, default: `./sdk/${name}.js` }]
  })
  return {
    name: sdk.name,
    version: sdk.version,
    description:
      'Private language-model inference: attested, end-to-end encrypted, in any TypeScript program',
    keywords: [
      'llm',
      'confidential computing',
      'attestation',
      'end-to-end encryption',
      'openai',
      'anthropic',
    ],
    license: sdk.license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: {
      ...Object.fromEntries(exported),
      './browser/*': './browser/*',
      './package.json': './package.json',
    },
    dependencies: Object.fromEntries(dependencies.sort(([a], [b]) => (a < b ? -1 : 1))),
    peerDependencies: peers,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(peers).map((name) => [name, { optional: true }]),
    ),
    publishConfig: { access: 'public', provenance: true },
  }
}

function readPackage(name: string): PackageFile {
  return JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
}

function listFiles(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /\.(js|d\.ts)$/.test(name)).map((name) => join(folder, name))
}

if (import.meta.main) {
  /* biome-ignore-start lint/suspicious/noConsole: a command reports what it built */
  console.log(`built ${relative(process.cwd(), await buildPackage())}`)
  for (const [name, source] of Object.entries(imports) as [Imported, string][]) {
    const { compressedBytes } = await bundle(source)
    const { budget } = limits[name]
    console.log(`${compressedBytes} bytes compressed of at most ${budget}: ${name}`)
    const fault = sizeFault(name, compressedBytes)
    if (fault === undefined) continue
    console.error(fault)
    process.exitCode = 1
  }
  /* biome-ignore-end lint/suspicious/noConsole: as above */
}
