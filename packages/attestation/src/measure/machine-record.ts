/** The machine behind a manifest's measurements: everything needed to build it again and compare. Clients do not act on it. */
import { Fields } from '../fields.ts'
import type { JsonObject, JsonValue } from '../strict-json.ts'
import { maxVcpus } from './snp-launch.ts'
import { type CpuModel, cpuSignatures } from './vmsa.ts'

/** Known weaknesses of a machine that its measurement does not remove. */
export const machineLimits = ['host_acpi'] as const
export type MachineLimit = (typeof machineLimits)[number]

export type SnpHost = { readonly cpu: CpuModel; readonly vcpus: number }

/** SHA-384 digests in hex: QEMU's tables depend on the machine's shape, SMBIOS is captured from a machine. */
export type TdxHost = {
  readonly memoryMib: number
  readonly acpiLoader: string
  readonly acpiRsdp: string
  readonly acpiTables: string
  readonly smbios: string
}

export type MachineRecord = {
  readonly source: {
    /** Where to clone from; the revision alone decides what is built. */
    readonly repository: string | undefined
    readonly revision: string
  }
  /** The machine's measured configuration, as `build:machine` reads it. */
  readonly config: JsonObject
  readonly commandLine: string
  readonly snp: readonly SnpHost[]
  readonly tdx: readonly TdxHost[]
  readonly limits: readonly MachineLimit[]
}

const sha384Bytes = 48

export function parseMachineRecord(json: JsonValue): MachineRecord {
  const fields = new Fields(json, 'manifest.machine', {
    malformed: 'manifest_malformed',
    unknown: 'manifest_unsupported',
  })
  const record: MachineRecord = {
    source: fields.object('source', (source) => ({
      repository: source.optional('repository', (name) => source.text(name, 500)),
      revision: source.matching('revision', /^[0-9a-f]{40}$/, 'a commit of 40 hex digits'),
    })),
    config: readObject(fields, 'config'),
    commandLine: fields.text('command_line', 2000),
    snp: fields.objects('snp', { min: 0, max: 256 }, (host) => ({
      cpu: host.choice('cpu', Object.keys(cpuSignatures) as CpuModel[]),
      vcpus: host.integer('vcpus', { min: 1, max: maxVcpus }),
    })),
    tdx: fields.objects('tdx', { min: 0, max: 256 }, (host) => ({
      memoryMib: host.integer('memory_mib', { min: 1, max: 2 ** 26 }),
      acpiLoader: host.hex('acpi_loader', sha384Bytes),
      acpiRsdp: host.hex('acpi_rsdp', sha384Bytes),
      acpiTables: host.hex('acpi_tables', sha384Bytes),
      smbios: host.hex('smbios', sha384Bytes),
    })),
    limits: fields.array('limits', { min: 0, max: machineLimits.length }, (item, path) => {
      const limit = machineLimits.find((known) => known === item)
      return limit ?? fields.refuse(path, `expected one of ${machineLimits.join(', ')}`)
    }),
  }
  fields.end()
  return record
}

/** The wire form of a record, for {@link parseMachineRecord}. */
export function formatMachineRecord(record: MachineRecord): JsonObject {
  const { source, config, commandLine, snp, tdx, limits } = record
  return {
    source: {
      ...(source.repository !== undefined && { repository: source.repository }),
      revision: source.revision,
    },
    config,
    command_line: commandLine,
    snp: snp.map(({ cpu, vcpus }) => ({ cpu, vcpus })),
    tdx: tdx.map((host) => ({
      memory_mib: host.memoryMib,
      acpi_loader: host.acpiLoader,
      acpi_rsdp: host.acpiRsdp,
      acpi_tables: host.acpiTables,
      smbios: host.smbios,
    })),
    limits: [...limits],
  }
}

function readObject(fields: Fields, name: string): JsonObject {
  const value = fields.value(name)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as JsonObject) : fields.refuse(name, 'not an object')
}
