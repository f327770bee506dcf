/** The worker's other commands: they print or create what an operator needs for a manifest. */
import { writeFileSync } from 'node:fs'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { type FlagTable, type Program, parseFlags } from '@privatemode/service'
import { chooseEngine } from './choose-engine.ts'
import { readSoftwareIdentity } from './evidence/choose-evidence.ts'
import { collectGpuEvidence, openNvml } from './evidence/gpu/nvml.ts'
import { contradiction, parseSettings, program } from './settings.ts'
import { describeWorker } from './worker.ts'

type Environment = Readonly<Record<string, string | undefined>>

const identityFlags = {
  out: { type: 'string', help: 'output file; an existing file is never replaced' },
  days: { type: 'integer', default: 365, min: 1, max: 3650, help: 'validity in days' },
} as const satisfies FlagTable

const identityProgram: Program<typeof identityFlags> = {
  name: 'privatemode-worker identity',
  summary:
    'creates an identity for software attestation, which protects nothing, and prints its root fingerprint',
  version: program.version,
  envPrefix: 'PRIVATEMODE_WORKER_IDENTITY_',
  flags: identityFlags,
}

const gpuFlags = {
  nonce: { type: 'string', help: '32 bytes in hex that every GPU signs' },
} as const satisfies FlagTable

const gpuProgram: Program<typeof gpuFlags> = {
  name: 'privatemode-worker gpu-evidence',
  summary: "prints what every NVIDIA GPU attests, asked through the driver's library",
  version: program.version,
  envPrefix: 'PRIVATEMODE_WORKER_GPU_EVIDENCE_',
  flags: gpuFlags,
}

/** Runs the command named by the arguments and returns its output; `undefined` if they name none. */
export async function runCommand(
  [command, ...args]: readonly string[],
  env: Environment,
  now: Date,
): Promise<string | undefined> {
  if (command === undefined || command.startsWith('-')) return undefined
  switch (command) {
    case 'identity':
      return makeIdentity(args, env, now)
    case 'gpu-evidence':
      return printGpuEvidence(args, env)
    case 'describe':
    case 'reference':
      return tellFacts(command, args, env)
  }
  throw contradiction(`there is no command "${command}"; see --help`)
}

async function tellFacts(
  command: 'describe' | 'reference',
  args: readonly string[],
  env: Environment,
): Promise<string> {
  const summary = `${program.commands?.[command]}; takes the worker's flags below`
  const own = { ...program, name: `${program.name} ${command}`, summary, commands: {} }
  const parsed = parseSettings({ args, env }, own)
  if (parsed.kind === 'text') return parsed.text
  const { attestation } = parsed.settings
  if (command === 'describe') {
    return `${JSON.stringify(await describeWorker(parsed.settings, chooseEngine))}\n`
  }
  if (attestation.kind !== 'software') {
    throw contradiction(
      'reference values of hardware are those of the machine image, which a program inside it cannot vouch for: ' +
        'take them from how it was built, and the models from `describe`; for trials set --softwareIdentity',
    )
  }
  const root = await softwareRootFingerprint(await readSoftwareIdentity(attestation.identityPath))
  const { measurement, models } = await describeWorker(parsed.settings, chooseEngine)
  const rule = { kind: 'software', measurements: [measurement], root, minimum_tcb: 1 }
  const listed = models.map(({ contextLength, displayName, ...model }) => ({
    ...model,
    context_length: contextLength,
    display_name: displayName,
  }))
  return `${JSON.stringify({ evidence: 'software', worker: [rule], models: listed }, null, 2)}\n`
}

/** The root signs one key and is discarded: the file's holder can attest, but cannot issue more keys. */
async function makeIdentity(args: readonly string[], env: Environment, now: Date): Promise<string> {
  const parsed = parseFlags(identityProgram, { args, env })
  if (parsed.kind === 'text') return parsed.text
  const { out, days } = parsed.values
  if (out === undefined)
    throw contradiction('--out is missing: name the file to write the identity to')
  const root = await createSoftwareRoot({ name: 'privatemode software root', at: now, days })
  const leaf = await issueSoftwareLeaf(root, { name: 'privatemode worker', at: now, days })
  try {
    writeFileSync(out, await formatSoftwareIdentity(leaf), { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'is there already and is not replaced' : 'cannot be written'
    throw contradiction(`${out} ${why}`, cause)
  }
  return `${await softwareRootFingerprint(root)}\n`
}

function printGpuEvidence(args: readonly string[], env: Environment): string {
  const parsed = parseFlags(gpuProgram, { args, env })
  if (parsed.kind === 'text') return parsed.text
  const { nonce = '' } = parsed.values
  if (!/^[0-9a-f]{64}$/.test(nonce)) throw contradiction('--nonce must be 32 bytes in hex')
  const nvml = openNvml()
  try {
    return `${JSON.stringify(collectGpuEvidence(nvml, Buffer.from(nonce, 'hex')))}\n`
  } finally {
    nvml.close()
  }
}
