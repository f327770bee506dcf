/** Fills reference values with those of a built machine, and records how to rebuild it. */
import {
  formatMachineRecord,
  type MachineRecord,
  type SnpHost,
  type TdxHost,
} from '@privatemode/attestation/measure'
import { type Options, UsageError } from '../command.ts'
import {
  type LaunchFiles,
  type MachineIndex,
  readLaunchFiles,
  readMachineIndex,
} from '../measure/machine-folder.ts'
import { readShapes, readTdxShape } from '../measure/measure-command.ts'
import { measureSnp, measureTdx } from '../measure/measurements.ts'

export const machineOptions = {
  machine: {
    value: 'DIR',
    help: 'folder of build:machine: its measurements and root hashes are filled in',
  },
  repository: { value: 'URL', help: 'with --machine: where its source can be cloned from' },
  cpu: { value: 'MODEL', help: 'with --machine: CPU models of its SNP hosts', repeatable: true },
  vcpus: { value: 'N', help: 'with --machine: numbers of vCPUs', repeatable: true },
  memory: { value: 'MIB', help: 'with --machine: memory of its TDX hosts' },
  acpi: { value: 'DIR', help: "with --memory: QEMU's files table-loader, rsdp, tables" },
  smbios: { value: 'HEX', help: 'with --memory: SHA-384 of the SMBIOS event' },
} as const

type Fields = { readonly [name: string]: unknown }

export type MachineValues = {
  /** An SNP or TDX rule without `measurements` gets those of the machine. */
  readonly fillRules: (rules: unknown) => unknown
  /** A model without `digest` or `file` gets the root hash of its volume. */
  readonly fillModel: (model: unknown) => unknown
  /** The manifest's `machine` member. */
  readonly record: object
}

export async function readMachineValues(
  given: Options<typeof machineOptions>,
): Promise<MachineValues | undefined> {
  const { machine, ...others } = given
  const [folder] = machine ?? []
  if (folder === undefined) {
    const [alone] = Object.keys(others).filter((name) => Object.hasOwn(machineOptions, name))
    if (alone === undefined) return undefined
    throw new UsageError(`--${alone} needs --machine`)
  }
  const index = await readMachineIndex(folder)
  if (index.variant !== 'production') {
    throw new UsageError(`${folder} is a machine of variant ${index.variant}: no manifest lists it`)
  }
  const { revision } = index.source
  if (!/^[0-9a-f]{40}$/.test(revision)) {
    throw new UsageError(
      `${folder} was built from ${revision}, which cannot be rebuilt by others: commit, then build it again`,
    )
  }
  const files = await readLaunchFiles(folder, index)
  const snp = readShapes(given)
  const measured = await measureSnp(files.snpFirmware, files, snp)
  const tdx = given.memory === undefined ? undefined : await measureTdxHost(given, files)
  return {
    record: formatMachineRecord(
      describeMachine(
        index,
        files,
        given.repository?.[0],
        snp.map(({ cpu, vcpus }) => ({ cpu, vcpus })),
        tdx === undefined ? [] : [tdx.host],
      ),
    ),
    fillRules: (rules) =>
      Array.isArray(rules)
        ? rules.map((rule: Fields) => {
            if (rule?.measurements !== undefined) return rule
            if (rule?.kind === 'snp') {
              return { ...rule, measurements: measured.map(({ measurement }) => measurement) }
            }
            return rule?.kind === 'tdx' && tdx !== undefined
              ? { ...rule, measurements: [tdx.measurements] }
              : rule
          })
        : rules,
    fillModel: (model) => {
      const fields = Object(model) as Fields
      const root = Object.hasOwn(index.weights, String(fields.id))
        ? index.weights[String(fields.id)]
        : undefined
      const isOpen = fields.digest === undefined && fields.file === undefined
      return isOpen && root !== undefined ? { ...fields, digest: `sha256:${root}` } : model
    },
  }
}

async function measureTdxHost(
  given: Options<typeof machineOptions>,
  files: LaunchFiles,
): Promise<{ host: TdxHost; measurements: Fields }> {
  const shape = await readTdxShape(given)
  const { acpi, smbios } = shape
  if (acpi === undefined || smbios === undefined) {
    throw new UsageError('--memory needs --acpi and --smbios: without them RTMR0 is not known')
  }
  const { mr_td, rtmr0, rtmr1, rtmr2 } = await measureTdx(files.tdxFirmware, files, shape)
  return {
    host: {
      memoryMib: shape.memoryBytes / 1024 / 1024,
      acpiLoader: hex(acpi.loader),
      acpiRsdp: hex(acpi.rsdp),
      acpiTables: hex(acpi.tables),
      smbios: hex(smbios),
    },
    measurements: { mr_td, rtmr0, rtmr1, rtmr2 },
  }
}

/** The kernel runs the host's ACPI code, which no measurement covers on SNP: see docs/machine.md. */
function describeMachine(
  { source }: MachineIndex,
  { config, commandLine }: LaunchFiles,
  repository: string | undefined,
  snp: readonly SnpHost[],
  tdx: readonly TdxHost[],
): MachineRecord {
  return {
    source: { repository, revision: source.revision },
    config: JSON.parse(config),
    commandLine,
    snp,
    tdx,
    limits: ['host_acpi'],
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
