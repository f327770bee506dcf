/** `bundle verify`: verifies an evidence bundle offline, as of a given time. */
import { createHash } from 'node:crypto'
import {
  AttestationError,
  type Check,
  defaultMaxLogAgeHours,
  type ManifestTrust,
  revocationWords,
  type VerifiedBundle,
  type VerifyBundleInputs,
  vendorRoots,
  verifyBundle,
} from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'
import {
  type Command,
  formatOptions,
  type Options,
  parseOptions,
  required,
  UsageError,
} from '../command.ts'
import { readBytes, takeFiles } from '../manifest/read-manifest.ts'

export const bundleOptions = {
  at: { value: 'TIME', help: 'the time to verify for, such as 2026-01-31T12:00:00Z' },
  'log-key': { value: 'KEY', help: 'the key of the manifest log' },
  witness: { value: 'KEY', help: 'the key of a witness of the log', repeatable: true },
  quorum: { value: 'N', help: 'how many witnesses must have cosigned; 0 if unset' },
  'max-log-age-hours': {
    value: 'N',
    help: 'how long before --at log and witnesses may have signed; 72 if unset',
  },
  'manifest-digest': { value: 'DIGEST', help: 'in place of a log: sha256: and 64 hex digits' },
  'software-root': {
    value: 'HEX',
    help: 'accepts software evidence of this root, which protects nothing',
    repeatable: true,
  },
  role: { value: 'worker|proxyless', help: 'what the machine is used as; worker if unset' },
  request: { value: 'FILE', help: 'the body that was sent, to compare with the receipt' },
  response: { value: 'FILE', help: 'the body that came back, to compare with the receipt' },
  'allow-unknown': {
    value: 'true|false',
    help: 'tolerates unknown revocation; false if unset',
  },
  'revoked-grace-hours': {
    value: 'N',
    help: 'tolerate a revoked status for this long; 0 if unset',
  },
} as const

export const bundleCommand: Command = {
  summary: 'verifies an evidence bundle: worker, manifest, log proof, receipt',
  help: `npm run -s verify -- bundle verify FILE --at TIME (--log-key KEY | --manifest-digest DIGEST)\n\n${formatOptions(bundleOptions)}`,
  run: async ([name, ...args], { out }) => {
    if (name !== 'verify') throw new UsageError('expected bundle verify')
    const { files, rest } = takeFiles(args, 'FILE')
    const given = parseOptions(bundleOptions, rest)
    const inputs = await bundleInputs(given)
    try {
      const verified = await verifyBundle(await readBytes(files[0] ?? ''), inputs)
      for (const check of verified.checks) out(formatCheck(check))
      for (const line of summarize(verified, inputs.at)) out(line)
      return 0
    } catch (error) {
      if (!(error instanceof AttestationError)) throw error
      for (const check of error.checks) out(formatCheck(check))
      out(`\nREFUSED (${error.code}): ${error.message}`)
      return 1
    }
  },
}

/** The verification inputs given by a call's options. */
export async function bundleInputs(
  given: Options<typeof bundleOptions>,
): Promise<VerifyBundleInputs> {
  const roots = given['software-root'] ?? []
  return {
    at: parseTime(required(given.at, 'at')),
    manifestTrust: parseTrust(given),
    roots: { ...vendorRoots, software: roots },
    revocation: {
      allowUnknown: parseBoolean(given['allow-unknown']?.[0]),
      revokedGraceHours: parseCount(given['revoked-grace-hours']?.[0]),
    },
    ...(roots.length > 0 && { software: softwareVerifier }),
    ...(given.role !== undefined && { role: parseRole(given.role[0]) }),
    ...(given.request !== undefined && { requestDigest: await digest(given.request) }),
    ...(given.response !== undefined && { responseDigest: await digest(given.response) }),
  }
}

function formatCheck({ id, result, detail }: Check): string {
  return `${result.padEnd(8)} ${id.padEnd(34)} ${detail}`
}

function summarize({ worker, manifest, receipt, madeAt }: VerifiedBundle, at: Date): string[] {
  const nature = worker.hardware ? 'protected hardware' : 'SOFTWARE, which protects nothing'
  const lines = [
    `\nVERIFIED for ${at.toISOString()} (bundle made at ${madeAt.toISOString()})`,
    `worker ${worker.workerId} on ${nature}, manifest serial ${manifest.serial}`,
    revocationWords[worker.revocation],
    ...worker.machine.map(
      ({ kind, id, listed }) =>
        `${kind} ${id}, ${listed ? 'listed' : 'not listed'} in the manifest`,
    ),
    `models ${worker.models.map(({ id }) => id).join(', ') || 'none'}`,
  ]
  if (receipt !== undefined) {
    const { requestId, model, promptTokens, completionTokens, outcome } = receipt
    lines.push(
      `receipt ${requestId}: ${model}, ${promptTokens} + ${completionTokens} tokens, ${outcome}`,
    )
  }
  return lines
}

type Given = {
  readonly 'log-key'?: readonly string[]
  readonly 'manifest-digest'?: readonly string[]
  readonly witness?: readonly string[]
  readonly quorum?: readonly string[]
  readonly 'max-log-age-hours'?: readonly string[]
}

function parseTrust(given: Given): ManifestTrust {
  const [logKey] = given['log-key'] ?? []
  const [digest] = given['manifest-digest'] ?? []
  if (logKey !== undefined && digest === undefined) {
    const quorum = parseCount(given.quorum?.[0])
    const [hours] = given['max-log-age-hours'] ?? []
    const maxAgeHours = hours === undefined ? defaultMaxLogAgeHours : parseCount(hours)
    return { kind: 'log', trust: { logKey, witnesses: given.witness ?? [], quorum }, maxAgeHours }
  }
  if (digest === undefined || logKey !== undefined) {
    throw new UsageError('give either --log-key or --manifest-digest: anyone can write a manifest')
  }
  return { kind: 'digest', digest }
}

function parseTime(text: string): Date {
  const time = new Date(text)
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time.getTime())) {
    throw new UsageError(`--at is ${JSON.stringify(text)}, expected a time`)
  }
  return time
}

function parseRole(text: string | undefined): 'worker' | 'proxyless' {
  if (text === 'worker' || text === 'proxyless') return text
  throw new UsageError(`--role is ${text}, expected worker or proxyless`)
}

function parseBoolean(text = 'false'): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new UsageError(`${JSON.stringify(text)} is neither true nor false`)
}

function parseCount(text = '0'): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new UsageError(`${JSON.stringify(text)} is not a count`)
}

async function digest(paths: readonly string[]): Promise<string> {
  return createHash('sha256')
    .update(await readBytes(paths[0] ?? ''))
    .digest('hex')
}
