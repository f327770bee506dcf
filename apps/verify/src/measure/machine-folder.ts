/** The files of a machine as written by `build:machine`: what is launched, and its index. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../command.ts'

/**
 * File names. `machine.json` lists each with its size and SHA-256, so that the directory can be
 * checked.
 */
export const machineFiles = {
  index: 'machine.json',
  snpFirmware: 'firmware-snp.fd',
  tdxFirmware: 'firmware-tdx.fd',
  kernel: 'kernel',
  initrd: 'initrd',
  commandLine: 'cmdline',
  config: 'config.json',
} as const

export const machineVariants = ['production', 'debug', 'software'] as const
export type MachineVariant = (typeof machineVariants)[number]

export type MachineIndex = {
  readonly variant: MachineVariant
  readonly source: { readonly revision: string; readonly version: string }
  /** The command line for launching the same files for debugging; no manifest may list the result. */
  readonly debugCommandLine: string
  readonly artefacts: Readonly<Record<string, { readonly sha256: string; readonly size: number }>>
  /** Verity root hashes of the models' weights by name: the digests in the manifest. */
  readonly weights: Readonly<Record<string, string>>
}

export type LaunchFiles = {
  readonly snpFirmware: Bytes
  readonly tdxFirmware: Bytes
  readonly kernel: Bytes
  readonly initrd: Bytes
  readonly commandLine: string
  /** The measured configuration, as text. */
  readonly config: string
}

type Bytes = Uint8Array<ArrayBuffer>

export async function readMachineIndex(folder: string): Promise<MachineIndex> {
  const path = join(folder, machineFiles.index)
  let index: Partial<MachineIndex>
  try {
    index = JSON.parse(new TextDecoder().decode(await readNamed(path))) as Partial<MachineIndex>
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${path} is not JSON`, { cause })
  }
  const { variant, source, artefacts, weights, debugCommandLine } = index
  if (!machineVariants.some((known) => known === variant) || artefacts === undefined) {
    throw new UsageError(`${path} is not the index of a machine`)
  }
  if (typeof source?.revision !== 'string' || weights === undefined) {
    throw new UsageError(`${path} names no source or weights`)
  }
  if (typeof debugCommandLine !== 'string') {
    throw new UsageError(`${path} has no command line for debugging: build the machine again`)
  }
  return index as MachineIndex
}

/** Every file is compared with the index: a manually changed directory is refused, not measured. */
export async function readLaunchFiles(folder: string, index: MachineIndex): Promise<LaunchFiles> {
  const read = async (name: string): Promise<Bytes> => {
    const bytes = await readNamed(join(folder, name))
    const seen = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    const expected = index.artefacts[name]?.sha256
    if (seen !== expected) {
      throw new UsageError(`${name} has SHA-256 ${seen}, the index says ${expected ?? 'nothing'}`)
    }
    return bytes
  }
  return {
    snpFirmware: await read(machineFiles.snpFirmware),
    tdxFirmware: await read(machineFiles.tdxFirmware),
    kernel: await read(machineFiles.kernel),
    initrd: await read(machineFiles.initrd),
    commandLine: new TextDecoder().decode(await read(machineFiles.commandLine)),
    config: new TextDecoder().decode(await read(machineFiles.config)),
  }
}

export async function readNamed(path: string): Promise<Bytes> {
  try {
    return new Uint8Array(await readFile(path))
  } catch (cause) {
    throw new UsageError(`cannot read ${path}`, { cause })
  }
}
