/** Launch measurements of given files, for one or more machine shapes. */
import {
  authenticodeSha384,
  type CpuModel,
  cpuSignatures,
  digestFirmware,
  digestLaunch,
  foldEvents,
  type Hypervisor,
  hashKernel,
  listBootEvents,
  measureTd,
  parseFirmware,
  readSevMetadata,
  readTdvfMetadata,
  writeTdHob,
} from '@privatemode/attestation/measure'

type Bytes = Uint8Array<ArrayBuffer>

export type Boot = {
  readonly kernel: Bytes
  readonly initrd: Bytes
  readonly commandLine: string
}

export type SnpShape = {
  readonly hypervisor: Hypervisor
  readonly cpu: CpuModel
  readonly vcpus: number
  readonly sevFeatures: bigint
  /** Clouds use a value of their own where QEMU uses the CPU's signature. */
  readonly rdx?: number
}

export type SnpMeasurement = {
  readonly cpu: string
  readonly vcpus: number
  readonly measurement: string
}

/** `boot` is absent for firmware that boots from a disk: the digest then does not cover what is booted. */
export async function measureSnp(
  firmware: Bytes,
  boot: Boot | undefined,
  shapes: readonly SnpShape[],
): Promise<SnpMeasurement[]> {
  const parsed = parseFirmware(firmware)
  const metadata = readSevMetadata(parsed)
  const pages = await digestFirmware(parsed)
  const kernel = boot && (await hashKernel(boot))
  const measured: SnpMeasurement[] = []
  for (const { cpu, vcpus, hypervisor, sevFeatures, rdx = cpuSignatures[cpu] } of shapes) {
    const launch = { hypervisor, vcpus, sevFeatures, rdx, ...(kernel && { kernel }) }
    const measurement = hex(await digestLaunch(pages, metadata, launch))
    measured.push({ cpu, vcpus, measurement })
  }
  return measured
}

export type TdxShape = {
  readonly memoryBytes: number
  /** SHA-384 of QEMU's tables for this shape; without them RTMR0 is unknown. */
  readonly acpi:
    | { readonly loader: Bytes; readonly rsdp: Bytes; readonly tables: Bytes }
    | undefined
  /** SHA-384 that the firmware logs for the SMBIOS table, read from a running machine. */
  readonly smbios: Bytes | undefined
}

export type TdxMeasurement = {
  readonly mr_td: string
  /** Absent if the shape's tables or its SMBIOS digest were not given. */
  readonly rtmr0?: string
  readonly rtmr1: string
  readonly rtmr2: string
  readonly rtmr3: string
  readonly events: readonly {
    readonly rtmr: number
    readonly name: string
    readonly digest: string
    readonly basis: string
  }[]
}

export async function measureTdx(
  firmware: Bytes,
  boot: Boot,
  { memoryBytes, acpi, smbios }: TdxShape,
): Promise<TdxMeasurement> {
  const parsed = parseFirmware(firmware)
  const sections = readTdvfMetadata(parsed)
  const store = sections.find(({ kind }) => kind === 'configuration')
  const unknown = new Uint8Array(48)
  const events = await listBootEvents({
    ovmf: 'from-202505',
    tdHob: writeTdHob(sections, memoryBytes),
    configurationVolume: firmware.slice(
      store?.dataOffset,
      (store?.dataOffset ?? 0) + (store?.dataSize ?? 0),
    ),
    acpi: acpi ?? { loader: unknown, rsdp: unknown, tables: unknown },
    smbios: smbios ?? unknown,
    secureBoot: new Uint8Array(1), // the store is empty: this build of OVMF then reports 0
    kernelAuthenticode: await authenticodeSha384(boot.kernel),
    commandLine: boot.commandLine,
    initrdSha384: await sha384(boot.initrd),
  })
  const isZeroKnown = acpi !== undefined && smbios !== undefined
  const known = events.filter(({ rtmr, digest }) => rtmr !== 0 || digest.some((byte) => byte !== 0))
  const [rtmr0, rtmr1, rtmr2, rtmr3] = (await foldEvents(events)).map(hex)
  return {
    mr_td: hex(await measureTd(parsed, sections)),
    ...(isZeroKnown && rtmr0 !== undefined && { rtmr0 }),
    rtmr1: rtmr1 ?? '',
    rtmr2: rtmr2 ?? '',
    rtmr3: rtmr3 ?? '',
    events: known.map(({ rtmr, name, digest, basis }) => ({
      rtmr,
      name,
      digest: hex(digest),
      basis,
    })),
  }
}

export async function sha384(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-384', bytes))
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
