/** Fills reference values with what a built machine has: launch digests for SNP rules, root hashes for models. */
import { type Options, UsageError } from '../command.ts'
import { readLaunchFiles, readMachineIndex } from '../measure/machine-folder.ts'
import { readShapes } from '../measure/measure-command.ts'
import { measureSnp } from '../measure/measurements.ts'

export const machineOptions = {
  machine: {
    value: 'DIR',
    help: 'folder of build:machine: its launch digests and root hashes are filled in',
  },
  cpu: { value: 'MODEL', help: 'with --machine: CPU models of its hosts', repeatable: true },
  vcpus: { value: 'N', help: 'with --machine: numbers of vCPUs', repeatable: true },
} as const

type Fields = { readonly [name: string]: unknown }

export type MachineValues = {
  /** An SNP rule without `measurements` gets those of the machine. */
  readonly fillRules: (rules: unknown) => unknown
  /** A model without `digest` or `file` gets the root hash of its volume. */
  readonly fillModel: (model: unknown) => unknown
}

export async function readMachineValues(
  given: Options<typeof machineOptions>,
): Promise<MachineValues | undefined> {
  const [folder] = given.machine ?? []
  if (folder === undefined) {
    if (given.cpu === undefined && given.vcpus === undefined) return undefined
    throw new UsageError('--cpu and --vcpus need --machine')
  }
  const index = await readMachineIndex(folder)
  if (index.variant !== 'production') {
    throw new UsageError(`${folder} is a machine of variant ${index.variant}: no manifest lists it`)
  }
  const files = await readLaunchFiles(folder, index)
  const measured = await measureSnp(files.snpFirmware, files, readShapes(given))
  const measurements = measured.map(({ measurement }) => measurement)
  return {
    fillRules: (rules) =>
      Array.isArray(rules)
        ? rules.map((rule: Fields) =>
            rule?.kind === 'snp' && rule.measurements === undefined
              ? { ...rule, measurements }
              : rule,
          )
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
