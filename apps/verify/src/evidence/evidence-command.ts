/** `evidence`: checks whether a report is authentic at a given time, and whether a manifest accepts it. */
import { readFileSync } from 'node:fs'
import {
  AttestationError,
  type Manifest,
  parseManifest,
  tightenRevocation,
  vendorRoots,
} from '@privatemode/attestation'
import {
  type Command,
  formatOptions,
  type Options,
  type OptionTable,
  parseOptions,
  required,
  UsageError,
} from '../command.ts'
import { decodeHex } from '../files/decode-text.ts'
import type { Bytes } from '../files/piece.ts'
import { type Inputs, readInputs } from './inputs.ts'
import { formatVerdict, isYes, type Verdict } from './verdict.ts'
import { verify } from './verifier.ts'
import { nvidiaVerifier } from './verify-nvidia.ts'
import { snpVerifier } from './verify-snp.ts'
import { tdxVerifier } from './verify-tdx.ts'

export const evidenceOptions = {
  type: { value: 'KIND', help: 'snp, tdx or nvidia-gpu' },
  file: { value: 'REPORT', help: 'the report; JSON may bring certificates with it' },
  cert: { value: 'FILE', help: 'certificates, in any order', repeatable: true },
  crl: { value: 'FILE', help: 'revocation lists', repeatable: true },
  collateral: { value: 'FILE', help: "Intel's TCB info, QE identity, lists", repeatable: true },
  rim: { value: 'FILE', help: "NVIDIA's reference measurements", repeatable: true },
  ocsp: { value: 'FILE', help: 'OCSP answers', repeatable: true },
  nonce: { value: 'HEX', help: 'what the report must have been made for' },
  at: { value: 'TIME', help: 'the time of the check, as 2026-01-31T12:00:00Z' },
  manifest: { value: 'FILE', help: 'also appraise by this manifest' },
  vendorOCSPAllowUnknown: { value: 'BOOL', help: 'tolerate an unknown OCSP status (true)' },
  vendorOCSPRevokedGracePeriod: { value: 'HOURS', help: 'tolerate "revoked" for this long (48)' },
} as const satisfies OptionTable

const maxFileBytes = 16 * 1024 * 1024

export const evidenceCommand: Command = {
  summary: 'is a report of a CPU or GPU authentic?',
  help: [
    'npm run -s verify -- evidence --type KIND --file REPORT --at TIME [options]',
    '',
    formatOptions(evidenceOptions),
    '',
    'Files may be DER, PEM, hex, base64, raw, or JSON that has one of these in it.',
    'Prints one line of JSON: authentic, code, message, claims, checks, revocation (checked,',
    'not checked or tolerated) and, with a manifest,',
    'appraisal. Exit code 0 where authentic (and accepted), 1 where not, 2 for a usage error.',
    'Without a manifest, what holds for every manifest is still asked: no debug mode, and for TDX',
    'a TCB that is up to date.',
  ].join('\n'),
  run: async (args, output) => {
    const verdict = await judgeEvidence(parseOptions(evidenceOptions, args))
    output.out(formatVerdict(verdict))
    return isYes(verdict) ? 0 : 1
  },
}

/** Reads the files of a call and verifies them. */
export async function judgeEvidence(given: Options<typeof evidenceOptions>): Promise<Verdict> {
  const type = required(given.type, 'type')
  const files = {
    report: readFile(required(given.file, 'file')),
    certificates: readFiles(given.cert),
    crls: readFiles(given.crl),
    collateral: readFiles(given.collateral),
    rims: readFiles(given.rim),
    ocsp: readFiles(given.ocsp),
  }
  const policy = {
    allowUnknown: readBoolean(given.vendorOCSPAllowUnknown?.[0] ?? 'true'),
    revokedGraceHours: readHours(given.vendorOCSPRevokedGracePeriod?.[0] ?? '48'),
  }
  const at = readTime(required(given.at, 'at'))
  const manifest = await readManifest(given.manifest?.[0])
  if (manifest instanceof AttestationError) return refusedManifest(manifest)
  const revocation = tightenRevocation(policy, manifest?.revocation)
  const context = { roots: vendorRoots, revocation, at }
  const nonce = readNonce(given.nonce?.[0])
  return dispatch(type, readInputs(files, { context, nonce, manifest }))
}

function dispatch(type: string, inputs: Inputs): Promise<Verdict> {
  switch (type) {
    case 'snp':
      return verify(snpVerifier, inputs)
    case 'nvidia-gpu':
      return verify(nvidiaVerifier, inputs)
    case 'tdx':
      return verify(tdxVerifier, inputs)
    default:
      throw new UsageError(`--type ${type}, expected snp, tdx or nvidia-gpu`)
  }
}

function readFiles(paths: readonly string[] | undefined): Bytes[] {
  return (paths ?? []).map(readFile)
}

function readFile(path: string): Bytes {
  let bytes: Bytes
  try {
    bytes = new Uint8Array(readFileSync(path))
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as { code?: string }).code ?? 'unknown'}`)
  }
  if (bytes.length > maxFileBytes) throw new UsageError(`${path} is larger than 16 MiB`)
  return bytes
}

/** An invalid manifest is a verdict about the manifest, not a usage error. */
async function readManifest(
  path: string | undefined,
): Promise<Manifest | AttestationError | undefined> {
  if (path === undefined) return undefined
  try {
    return await parseManifest(readFile(path))
  } catch (error) {
    if (error instanceof AttestationError) return error
    throw error
  }
}

function refusedManifest({ code, message }: AttestationError): Verdict {
  return { authentic: false, code, message, claims: {}, checks: [], revocation: 'not checked' }
}

function readNonce(text: string | undefined): Bytes | undefined {
  if (text === undefined) return undefined
  return decodeHex(text) ?? refuse(`--nonce is not hex`)
}

function readTime(text: string): Date {
  const time = new Date(text)
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime())
    ? time
    : refuse('--at is not a time such as 2026-01-31T12:00:00Z')
}

function readBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') refuse('--vendorOCSPAllowUnknown is true or false')
  return text === 'true'
}

function readHours(text: string): number {
  return /^\d{1,6}$/.test(text)
    ? Number(text)
    : refuse('--vendorOCSPRevokedGracePeriod is in hours')
}

function refuse(message: string): never {
  throw new UsageError(message)
}
