/** Builds the machine into a folder: what is launched, the root file system, and an index of everything with its hash. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants as zlib, zstdCompressSync } from 'node:zlib'
import {
  emptyVariableStore,
  parseFirmware,
  readTdvfMetadata,
} from '@privatemode/attestation/measure'
import {
  formatCommandLine,
  formatMachineConfig,
  type MachineConfig,
  parseMachineConfig,
  type Variant,
  volumeLabels,
} from '@privatemode/machine'
import { readBuildFacts } from '../deploy/build-facts.ts'
import type { TarEntry } from '../deploy/oci/tar.ts'
import type { CpioEntry } from './cpio.ts'
import { writeCpio } from './cpio.ts'
import { writeErofs } from './erofs.ts'
import { Package, readPackageList } from './packages.ts'
import { initrdTree, rootTree, type Sourced, workerMain } from './trees.ts'
import { appendVerity } from './verity.ts'

export const kernelPackage = 'linux-image-6.12.107+deb13-cloud-amd64'
const kernelPath = 'boot/vmlinuz-6.12.107+deb13-cloud-amd64'

/** As `verify measure --machine` expects them. */
export const names = {
  snpFirmware: 'firmware-snp.fd',
  tdxFirmware: 'firmware-tdx.fd',
  kernel: 'kernel',
  initrd: 'initrd',
  commandLine: 'cmdline',
  root: 'root.img',
  config: 'config.json',
  index: 'machine.json',
} as const

export type BuildOptions = {
  readonly variant: Variant
  readonly config: MachineConfig
  readonly out: string
  /** Software variant only: a program that runs in place of the worker, to see what it can do. */
  readonly program?: string
}

export async function buildMachine({ variant, config, out, program }: BuildOptions): Promise<void> {
  if (program !== undefined && variant !== 'software') {
    throw new Error('only a machine of variant software runs a program of tests')
  }
  const facts = readBuildFacts()
  const text = formatMachineConfig(config)
  parseMachineConfig(Buffer.from(text), variant) // do not build what init would refuse
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const put = (name: string, content: Uint8Array | string) =>
    writeFileSync(join(out, name), content)

  const kernel = await Package.open(kernelPackage)
  put(names.kernel, kernel.file(kernelPath))
  const snp = (await Package.open('ovmf-amdsev')).file('usr/share/ovmf/OVMF.amdsev.fd')
  put(names.snpFirmware, snp)
  const tdx = (await Package.open('ovmf-inteltdx')).file('usr/share/ovmf/OVMF.inteltdx.ms.fd')
  put(names.tdxFirmware, withoutKeys(tdx))

  const initrd = await initrdTree(kernel)
  put(names.initrd, compress(writeCpio(initrd.map(({ entry }) => entry))))
  const root = replaceWorker(await rootTree(), program)
  const rootPath = join(out, names.root)
  await writeErofs(
    rootPath,
    volumeLabels.root,
    root.map(({ entry }) => entry),
  )
  const verity = appendVerity(rootPath, volumeLabels.root)

  put(names.config, text)
  const configHash = createHash('sha256').update(text).digest('hex')
  const launch = { variant, root: { hash: verity.root, blocks: verity.blocks }, config: configHash }
  put(names.commandLine, formatCommandLine(launch))
  put(names.index, `${JSON.stringify(index(), null, 1)}\n`)

  function index() {
    const artefacts = Object.values(names).filter((name) => name !== names.index)
    return {
      version: 1,
      variant,
      source: { revision: facts.revision, version: facts.version },
      // The same files launched for debugging: a manifest that lists this is refused.
      debugCommandLine: formatCommandLine({ ...launch, variant: 'debug' }),
      artefacts: Object.fromEntries(artefacts.map((name) => [name, describe(join(out, name))])),
      root: verity,
      ...(config.server !== undefined && { server: config.server.volume.root }),
      weights: Object.fromEntries(config.models.map(({ id, volume }) => [id, volume.root])),
      packages: readPackageList().packages.map(({ name, version, sha256 }) => ({
        name,
        version,
        sha256,
      })),
      files: { initrd: listFiles(initrd), root: listFiles(root) },
    }
  }
}

function replaceWorker(
  tree: Sourced<TarEntry>[],
  program: string | undefined,
): Sourced<TarEntry>[] {
  if (program === undefined) return tree
  return tree.map((one) =>
    one.entry.kind === 'file' && one.entry.path === workerMain
      ? { entry: { ...one.entry, content: new Uint8Array(readFileSync(program)) }, origin: program }
      : one,
  )
}

/** With Microsoft's keys the firmware would refuse the kernel, and a fallback would load it unmeasured. */
function withoutKeys(firmware: Uint8Array): Uint8Array {
  const parsed = parseFirmware(new Uint8Array(firmware))
  return emptyVariableStore(parsed, readTdvfMetadata(parsed))
}

/** One thread, with the pinned runtime's library: the same input gives the same bytes. */
function compress(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, {
    params: { [zlib.ZSTD_c_compressionLevel]: 3, [zlib.ZSTD_c_checksumFlag]: 1 },
  })
}

function describe(path: string) {
  const hash = new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')
  return { sha256: hash, size: statSync(path).size }
}

function listFiles(tree: readonly Sourced<CpioEntry>[]) {
  return tree
    .map(({ entry, origin }) => ({
      path: entry.path,
      origin,
      ...(entry.kind === 'file' && {
        sha256: createHash('sha256').update(entry.content).digest('hex'),
      }),
      ...(entry.kind === 'link' && { to: entry.to }),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}
