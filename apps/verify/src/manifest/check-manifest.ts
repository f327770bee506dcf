/** `manifest check`: checks whether clients accept a manifest, and whether it leaves anything open. */
import { AttestationError, formatInstant, type Manifest } from '@privatemode/attestation'
import {
  type MachineLimit,
  type MachineRecord,
  parseMachineRecord,
} from '@privatemode/attestation/measure'
import { type Command, formatOptions, type Output, parseOptions } from '../command.ts'
import { compareWithMachine } from '../measure/compare-machine.ts'
import { readLaunchFiles, readMachineIndex } from '../measure/machine-folder.ts'
import { readShapes } from '../measure/measure-command.ts'
import { report } from '../rebuild/rebuild-command.ts'
import { readManifest, takeFiles } from './read-manifest.ts'
import { findWeaknesses } from './weaknesses.ts'

const options = {
  strict: { help: 'treat warnings as errors' },
  at: { value: 'TIME', help: 'the time to check for; now if unset' },
  machine: { value: 'DIR', help: 'folder of build:machine that must explain every measurement' },
} as const

export const checkManifest: Command = {
  summary: 'checks whether clients accept a manifest',
  help: `npm run -s verify -- manifest check FILE [options]\n\n${formatOptions(options)}`,
  run: async (args, output) => {
    const { out, error } = output
    const { files, rest } = takeFiles(args, 'FILE')
    const given = parseOptions(options, rest)
    const manifest = await readManifest(files[0] ?? '')
    const { expiresAt } = manifest
    const at = given.at === undefined ? new Date() : new Date(given.at[0] ?? '')
    if (expiresAt !== undefined && !(at < expiresAt)) {
      const message = `${files[0]}: expired at ${formatInstant(expiresAt)}`
      throw new AttestationError('manifest_expired', message)
    }
    const record = manifest.machine === undefined ? undefined : parseMachineRecord(manifest.machine)
    if (record !== undefined && !isProduction(record)) {
      const message = `${files[0]}: the command line of its machine is not for production`
      throw new AttestationError('manifest_malformed', message)
    }
    for (const limit of record?.limits ?? []) out(`limit: ${limits[limit]}`)
    const [machine] = given.machine ?? []
    if (machine !== undefined) {
      const code = await compareFolder(machine, manifest, record, output)
      if (code !== 0) return code
    }
    const weaknesses = findWeaknesses(manifest)
    const isRefused = given.strict !== undefined && weaknesses.length > 0
    for (const one of weaknesses) {
      if (isRefused) error(`refused: ${one}`)
      else out(`warning: ${one}`)
    }
    if (isRefused) return 1
    out(`good: serial ${manifest.serial}, ${manifest.evidence} evidence, ${manifest.digest}`)
    return 0
  },
}

const limits: Readonly<Record<MachineLimit, string>> = {
  host_acpi:
    "the machine's kernel runs ACPI code of its host, which can reach private memory (host_acpi)",
}

const isProduction = ({ commandLine }: MachineRecord): boolean =>
  commandLine.split(/\s+/).includes('pm.variant=production')

/** Without a record, every measurable host is tried. */
async function compareFolder(
  folder: string,
  manifest: Manifest,
  record: MachineRecord | undefined,
  output: Output,
): Promise<number> {
  const index = await readMachineIndex(folder)
  const files = await readLaunchFiles(folder, index)
  const hosts = record ?? { snp: readShapes({}), tdx: [] }
  return report(await compareWithMachine(manifest, index, files, hosts), output)
}
