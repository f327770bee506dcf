/** `manifest build`: creates a manifest from reference values. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { formatInstant, type Manifest, parseManifest } from '@privatemode/attestation'
import { type Command, formatOptions, parseOptions, UsageError } from '../command.ts'
import { machineOptions, readMachineValues } from './machine-values.ts'
import { readBytes, readManifest, takeFiles } from './read-manifest.ts'
import { chooseTcbEvaluation, knownTcbEvaluation, withTcbEvaluation } from './tcb-evaluation.ts'

const options = {
  previous: { value: 'FILE', help: 'previous manifest: the serial is the next one' },
  serial: { value: 'N', help: 'serial, if there is no previous manifest' },
  at: { value: 'TIME', help: 'time of issue, 2026-01-31T12:00:00Z; now if unset' },
  days: { value: 'N', help: 'how long the manifest is valid; 90 days if unset' },
  'tcb-info': {
    value: 'FILE',
    help: 'TCB info from Intel: TDX rules require its TCB recovery or a later one',
    repeatable: true,
  },
  ...machineOptions,
  'no-expiry': { help: 'omit expires_at, for clients that do not know it yet' },
  out: { value: 'FILE', help: 'output file; standard output if unset' },
} as const

export const buildManifest: Command = {
  summary: 'creates a manifest from reference values',
  help: `npm run -s verify -- manifest build REFERENCE [options]

REFERENCE is JSON: "evidence" ("hardware" or "software"), "worker" (a list of rules) and,
optionally, "proxyless" (a list of rules), "models", "session_minutes", "log_key", "revocation". A
model has either "digest" or "file", the path of its weights relative to REFERENCE, whose digest is
then computed. With --machine, rules without "measurements" and models without "digest" get those of
the machine, and the manifest records how to rebuild it ("verify rebuild"); the machine must be a
production build of a commit. TDX rules without "min_tcb_evaluation_data_number" get the highest
known number: ${knownTcbEvaluation}, the previous manifest's, or that of --tcb-info.

${formatOptions(options)}`,
  run: async (args, { out }) => {
    const { files, rest } = takeFiles(args, 'REFERENCE')
    const given = parseOptions(options, rest)
    const path = files[0] ?? ''
    const read = parseReference(await readBytes(path), path)
    const machine = await readMachineValues(given)
    const reference = machine
      ? {
          ...read,
          worker: machine.fillRules(read.worker),
          models: read.models.map(machine.fillModel),
        }
      : read
    const previous = given.previous?.[0]
    const before = previous === undefined ? undefined : await readManifest(previous)
    const evaluation = await chooseTcbEvaluation(before, given['tcb-info'] ?? [])
    const issuedAt = given.at?.[0] ?? formatInstant(new Date())
    const document = {
      version: 1,
      issued_at: issuedAt,
      expires_at: given['no-expiry'] === undefined ? expiry(issuedAt, given.days?.[0]) : undefined,
      serial: chooseSerial(before, given.serial?.[0]),
      evidence: reference.evidence,
      roles: {
        worker: { accept: withTcbEvaluation(reference.worker, evaluation) },
        ...(reference.proxyless !== undefined && {
          proxyless: { accept: withTcbEvaluation(reference.proxyless, evaluation) },
        }),
      },
      models: await Promise.all(reference.models.map((model) => withDigest(model, dirname(path)))),
      session_minutes: reference.session_minutes,
      log_key: reference.log_key,
      revocation: reference.revocation,
      machine: machine?.record,
    }
    const bytes = Buffer.from(`${JSON.stringify(document, null, 2)}\n`)
    // Never writes a manifest that clients would refuse.
    const manifest = await parseManifest(bytes)
    const target = given.out?.[0]
    if (target === undefined) out(bytes.toString().trimEnd())
    else {
      await writeFile(target, bytes)
      out(`${target}: serial ${manifest.serial}, ${manifest.digest}`)
    }
    return 0
  },
}

type Reference = { readonly [name: string]: unknown } & { readonly models: readonly unknown[] }

const known = [
  'evidence',
  'worker',
  'proxyless',
  'models',
  'session_minutes',
  'log_key',
  'revocation',
]

function parseReference(bytes: Uint8Array, path: string): Reference {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder().decode(bytes))
  } catch (cause) {
    throw new UsageError(`${path} is not JSON`, { cause })
  }
  const reference = Object(json) as { [name: string]: unknown }
  const unknown = Object.keys(reference).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new UsageError(`${path}: unknown member ${unknown}`)
  const { models = [] } = reference
  if (!Array.isArray(models)) throw new UsageError(`${path}: models is not a list`)
  return { ...reference, models }
}

function expiry(issuedAt: string, days = '90'): string {
  const issued = Date.parse(issuedAt)
  if (!/^[1-9]\d{0,3}$/.test(days)) throw new UsageError(`--days is ${days}, expected 1 to 9999`)
  if (Number.isNaN(issued)) throw new UsageError(`--at is ${issuedAt}, expected a time`)
  return formatInstant(new Date(issued + Number(days) * 24 * 3_600_000))
}

function chooseSerial(previous: Manifest | undefined, serial: string | undefined): number {
  if ((previous === undefined) === (serial === undefined)) {
    throw new UsageError('give either --previous or --serial')
  }
  return previous === undefined ? Number(serial) : previous.serial + 1
}

async function withDigest(model: unknown, folder: string): Promise<object> {
  const { file, ...listing } = Object(model) as { [name: string]: unknown }
  if (typeof file !== 'string') return listing
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(resolve(folder, file))) hash.update(chunk)
  } catch (cause) {
    throw new UsageError(`${file}: ${cause instanceof Error ? cause.message : ''}`, { cause })
  }
  return { ...listing, digest: `sha256:${hash.digest('hex')}` }
}
