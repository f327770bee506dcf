/** `measure`: computes from files what a chip will report about a machine launched with them. */
import { join } from 'node:path'
import {
  type CpuModel,
  cpuSignatures,
  foldEvents,
  type Hypervisor,
  hypervisors,
  MeasureError,
  maxVcpus,
  measuredEvents,
  parseEventLog,
} from '@privatemode/attestation/measure'
import {
  type Command,
  formatOptions,
  type Options,
  type Output,
  parseOptions,
  required,
  UsageError,
} from '../command.ts'
import { decodeHex } from '../files/decode-text.ts'
import { readLaunchFiles, readMachineIndex, readNamed } from './machine-folder.ts'
import {
  type Boot,
  measureSnp,
  measureTdx,
  type SnpShape,
  sha384,
  type TdxShape,
} from './measurements.ts'

const options = {
  machine: { value: 'DIR', help: 'a directory of build:machine, instead of the files below' },
  firmware: { value: 'FILE', help: 'the firmware (OVMF)' },
  kernel: { value: 'FILE', help: 'the kernel' },
  initrd: { value: 'FILE', help: 'the initial ramdisk' },
  cmdline: { value: 'TEXT', help: 'the command line, or @FILE; trailing line ends count' },
  vcpus: { value: 'N', help: 'SNP: number of vCPUs (1, 2, 4, 8, 16, 32, 64)', repeatable: true },
  cpu: { value: 'MODEL', help: `SNP: ${Object.keys(cpuSignatures).join(', ')}`, repeatable: true },
  hypervisor: { value: 'NAME', help: `SNP: ${hypervisors.join(', ')}; qemu if unset` },
  features: { value: 'HEX', help: 'SNP: SEV_FEATURES; 1 if unset' },
  rdx: { value: 'HEX', help: 'SNP: reset value of RDX, where it is not that of the model' },
  memory: { value: 'MIB', help: 'TDX: memory of the machine' },
  acpi: { value: 'DIR', help: "TDX: QEMU's files table-loader, rsdp, tables of this shape" },
  smbios: { value: 'HEX', help: 'TDX: SHA-384 of the SMBIOS event, read off such a machine' },
} as const

export const measureCommand: Command = {
  summary: 'what will a chip report about a machine launched with these files?',
  help: `npm run -s verify -- measure snp|tdx [options]
npm run -s verify -- measure log FILE

snp prints a launch digest for every --cpu and --vcpus. tdx prints MRTD and RTMR0 to RTMR3 with
the events behind them; "basis" says whether an event was compared with a quote of real hardware,
follows from source code alone, or was captured on a machine. RTMR0 depends on tables that QEMU
makes for a shape of machine: without --acpi and --smbios it is left out. log replays a CC event
log (/sys/firmware/acpi/tables/data/CCEL). One line of JSON each; exit code 1 where a file is not
what it should be.

${formatOptions(options)}`,
  run: async ([kind = '', ...rest], output) => {
    try {
      switch (kind) {
        case 'snp':
          return await printSnp(parseOptions(options, rest), output)
        case 'tdx':
          return await printTdx(parseOptions(options, rest), output)
        case 'log':
          return await printLog(rest, output)
        default:
          throw new UsageError('expected measure snp|tdx|log')
      }
    } catch (error) {
      if (!(error instanceof MeasureError)) throw error
      output.error(`refused: ${error.message} (${error.code})`)
      return 1
    }
  },
}

type Given = Options<typeof options>

async function printSnp(given: Given, { out }: Output): Promise<number> {
  const { firmware, boot } = await readFiles(given, 'snpFirmware')
  for (const one of await measureSnp(firmware, boot, readShapes(given))) out(JSON.stringify(one))
  return 0
}

async function printTdx(given: Given, { out }: Output): Promise<number> {
  const { firmware, boot } = await readFiles(given, 'tdxFirmware')
  if (boot === undefined) throw new UsageError('--kernel is missing')
  out(JSON.stringify(await measureTdx(firmware, boot, await readTdxShape(given))))
  return 0
}

async function printLog(args: readonly string[], { out }: Output): Promise<number> {
  const [path = ''] = args
  if (args.length !== 1 || path.startsWith('--')) throw new UsageError('expected measure log FILE')
  const events = parseEventLog(await readNamed(path))
  const registers = await foldEvents(measuredEvents(events))
  const named = registers.map((bytes, index) => [
    `rtmr${index}`,
    Buffer.from(bytes).toString('hex'),
  ])
  out(JSON.stringify({ ...Object.fromEntries(named), events: events.length }))
  return 0
}

async function readFiles(given: Given, name: 'snpFirmware' | 'tdxFirmware') {
  const [folder] = given.machine ?? []
  if (folder !== undefined) {
    const files = await readLaunchFiles(folder, await readMachineIndex(folder))
    return { firmware: files[name], boot: files }
  }
  const firmware = await readNamed(required(given.firmware, 'firmware'))
  return { firmware, boot: await readBoot(given) }
}

async function readBoot(given: Given): Promise<Boot | undefined> {
  const [kernel] = given.kernel ?? []
  if (kernel === undefined) {
    if (given.initrd !== undefined || given.cmdline !== undefined) {
      throw new UsageError('--initrd and --cmdline need --kernel')
    }
    return undefined
  }
  const [initrd] = given.initrd ?? []
  const [text = ''] = given.cmdline ?? []
  return {
    kernel: await readNamed(kernel),
    initrd: initrd === undefined ? new Uint8Array(0) : await readNamed(initrd),
    commandLine: text.startsWith('@')
      ? new TextDecoder().decode(await readNamed(text.slice(1)))
      : text,
  }
}

const usualVcpus = ['1', '2', '4', '8', '16', '32', '64']

/** Also used by `manifest build --machine`. */
export function readShapes(
  given: Pick<Given, 'vcpus' | 'cpu' | 'hypervisor' | 'features' | 'rdx'>,
): SnpShape[] {
  const cpus = (given.cpu ?? Object.keys(cpuSignatures)).map((name): CpuModel => {
    if (Object.hasOwn(cpuSignatures, name)) return name as CpuModel
    throw new UsageError(`--cpu is ${name}, expected ${Object.keys(cpuSignatures).join(', ')}`)
  })
  const counts = (given.vcpus ?? usualVcpus).map((text) => {
    const count = Number(text)
    if (/^\d{1,3}$/.test(text) && count >= 1 && count <= maxVcpus) return count
    throw new UsageError(`--vcpus is ${text}, expected 1 to ${maxVcpus}`)
  })
  const [name = 'qemu'] = given.hypervisor ?? []
  const hypervisor: Hypervisor | undefined = hypervisors.find((known) => known === name)
  if (hypervisor === undefined)
    throw new UsageError(`--hypervisor is ${name}, expected ${hypervisors.join(', ')}`)
  const sevFeatures = BigInt(readHexNumber(given.features?.[0] ?? '1', 'features'))
  const rdx = given.rdx === undefined ? undefined : readHexNumber(given.rdx[0] ?? '', 'rdx')
  return cpus.flatMap((cpu) =>
    counts.map((vcpus) => ({
      cpu,
      vcpus,
      hypervisor,
      sevFeatures,
      ...(rdx !== undefined && { rdx }),
    })),
  )
}

function readHexNumber(text: string, name: string): number {
  if (!/^(0x)?[0-9a-f]{1,8}$/.test(text)) throw new UsageError(`--${name} is ${text}, expected hex`)
  return Number.parseInt(text.replace(/^0x/, ''), 16)
}

export async function readTdxShape(
  given: Pick<Given, 'memory' | 'acpi' | 'smbios'>,
): Promise<TdxShape> {
  const memory = required(given.memory, 'memory')
  if (!/^[1-9]\d{1,7}$/.test(memory)) throw new UsageError(`--memory is ${memory}, expected MiB`)
  const [folder] = given.acpi ?? []
  const [smbios] = given.smbios ?? []
  const digest = smbios === undefined ? undefined : decodeHex(smbios)
  if (smbios !== undefined && digest?.length !== 48)
    throw new UsageError('--smbios is not a SHA-384')
  return {
    memoryBytes: Number(memory) * 1024 * 1024,
    acpi:
      folder === undefined
        ? undefined
        : {
            loader: await sha384(await readNamed(join(folder, 'table-loader'))),
            rsdp: await sha384(await readNamed(join(folder, 'rsdp'))),
            tables: await sha384(await readNamed(join(folder, 'tables'))),
          },
    smbios: digest,
  }
}
