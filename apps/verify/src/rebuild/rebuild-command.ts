/**
 * `rebuild`: builds the source named in a manifest and checks whether it yields the listed
 * measurements.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AttestationError } from '@privatemode/attestation'
import { type MachineRecord, parseMachineRecord } from '@privatemode/attestation/measure'
import { type Command, formatOptions, type Output, parseOptions, UsageError } from '../command.ts'
import { readManifest, takeFiles } from '../manifest/read-manifest.ts'
import { type Comparison, compareWithMachine } from '../measure/compare-machine.ts'
import { readLaunchFiles, readMachineIndex } from '../measure/machine-folder.ts'

const options = {
  source: {
    value: 'URL|DIR',
    help: 'where to clone the source from; what the manifest names if unset',
  },
  out: { value: 'DIR', help: 'keep the built machine here; it is removed if unset' },
} as const

const unclear = 3

export const rebuildCommand: Command = {
  summary: 'does the source that a manifest names give the measurements it lists?',
  help: `npm run -s verify -- rebuild MANIFEST [options]

Clones the commit that the manifest's member "machine" names, builds the machine from it with the
configuration in the manifest, and compares what it measures with what the manifest lists. This runs
the build of that commit on your system, and fetches its pinned packages. Digests of models are root
hashes of volumes: "build:weights" on a folder of weights says whether they are the same.
Exit code: 0 all the same, 1 something differs, 3 the source could not be fetched or built.

${formatOptions(options)}`,
  run: async (args, output) => {
    const { files, rest } = takeFiles(args, 'MANIFEST')
    const given = parseOptions(options, rest)
    const path = files[0] ?? ''
    try {
      const manifest = await readManifest(path)
      if (manifest.machine === undefined) {
        throw new UsageError(`${path} names no machine: it was not built with --machine`)
      }
      const record = parseMachineRecord(manifest.machine)
      const source = given.source?.[0] ?? record.source.repository
      if (source === undefined) {
        throw new UsageError(`${path} names no repository; give one with --source`)
      }
      return await inFolder(async (work) => {
        const out = resolve(given.out?.[0] ?? join(work, 'machine'))
        const checkout = join(work, 'source')
        if (!(await buildSource({ source, record, work, checkout, out }, output))) return unclear
        const index = await readMachineIndex(out)
        const files = await readLaunchFiles(out, index)
        return report(await compareWithMachine(manifest, index, files, record), output)
      })
    } catch (error) {
      if (!(error instanceof AttestationError)) throw error
      output.error(`refused: ${error.message} (${error.code})`)
      return 1
    }
  },
}

/** Prints one line for each value of the manifest; the exit code is 0 if all match. */
export function report(comparisons: readonly Comparison[], { out }: Output): number {
  for (const { value, verdict, host } of comparisons) {
    switch (verdict) {
      case 'same':
        out(`same         ${value} (${host})`)
        break
      case 'debug':
        out(`DEBUG        ${value} (${host}): the machine launched for debugging`)
        break
      case 'unexplained':
        out(`unexplained  ${value}`)
        break
    }
  }
  const differing = comparisons.filter(({ verdict }) => verdict !== 'same').length
  if (differing === 0 && comparisons.length > 0) {
    out(`all ${comparisons.length} values of the manifest come from this source`)
    return 0
  }
  out(`${differing} of ${comparisons.length} values do not come from this source`)
  return 1
}

type Build = {
  readonly source: string
  readonly record: MachineRecord
  readonly work: string
  readonly checkout: string
  readonly out: string
}

async function buildSource(build: Build, { error }: Output): Promise<boolean> {
  const { source, record, work, checkout, out } = build
  const { revision } = record.source
  const config = join(work, 'config.json')
  await writeFile(config, JSON.stringify(record.config))
  const git = ['git', '-C', checkout]
  const steps: readonly (readonly [what: string, command: readonly string[]])[] = [
    // `--` and the checks below ensure that neither a URL nor a revision is parsed as an option.
    [`cloning ${source}`, ['git', 'clone', '--quiet', '--no-checkout', '--', source, checkout]],
    [`checking out ${revision}`, [...git, 'checkout', '--quiet', '--detach', revision]],
    ['building the machine', ['node', 'scripts/task.mjs', 'build:machine', config, '--out', out]],
  ]
  for (const [what, command] of steps) {
    error(`${what} …`)
    // Everything a step prints is progress: standard output contains only the verdicts.
    // Tasks are found relative to the checkout, a source relative to where the command was given.
    const cwd = command[0] === 'node' ? checkout : process.cwd()
    const child = Bun.spawn([...command], { cwd, stdin: 'ignore', stdout: 2, stderr: 2 })
    const code = await child.exited
    if (code === 0) continue
    error(`${what} failed with exit code ${code}`)
    return false
  }
  return true
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'privatemode-rebuild-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
