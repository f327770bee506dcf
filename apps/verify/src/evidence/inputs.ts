/** The inputs of an `evidence` call: parsed files, and how to verify them. */
import type {
  AttestationErrorCode,
  AuthenticityContext,
  Manifest,
  Transcript,
} from '@privatemode/attestation'
import { type Certificate, parseCertificate, parseCrl } from '@privatemode/attestation/inspect'
import { UsageError } from '../command.ts'
import { type Bytes, bytesOf, type Kind, type Piece } from '../files/piece.ts'
import { readPieces } from '../files/read-pieces.ts'

export type Files = {
  readonly report: Bytes
  readonly certificates: readonly Bytes[]
  readonly crls: readonly Bytes[]
  readonly collateral: readonly Bytes[]
  readonly rims: readonly Bytes[]
  readonly ocsp: readonly Bytes[]
}

export type Judgement = {
  readonly context: AuthenticityContext
  /** 32 bytes for a GPU; for a CPU, the start of REPORT_DATA before the zeros. */
  readonly nonce: Bytes | undefined
  readonly manifest: Manifest | undefined
}

export type Inputs = Judgement & {
  /** The pieces in the report's file. */
  readonly report: readonly Piece[]
  /** Files given as revocation lists: they are verified even if they are not lists. */
  readonly givenCrls: readonly Bytes[]
  /** Everything, including the report's file. */
  readonly all: readonly Piece[]
  /** Unrecognized bytes in the report's file, for a verifier to refuse. */
  readonly unknownReports: readonly Bytes[]
  /** Options whose file contains nothing of the expected kind. */
  readonly unreadable: readonly Unreadable[]
}

type Unreadable = { readonly option: string; readonly code: AttestationErrorCode }

// More than the evidence of a whole rack; these pieces are searched again for each report.
const limits = { certificate: 512, crl: 64, ocsp: 256, rim: 64, 'tcb-info': 64, 'qe-identity': 64 }

export function readInputs(files: Files, judgement: Judgement): Inputs {
  const report = readPieces(files.report)
  const unreadable: Unreadable[] = []
  const read = (option: keyof typeof purposes, given: readonly Bytes[]): Piece[] =>
    given.flatMap((file) => {
      const { kinds, code, standsFor }: Purpose = purposes[option]
      const pieces = readPieces(file)
      if (pieces.some(({ kind }) => kinds.includes(kind))) return pieces
      unreadable.push({ option, code })
      return standsFor === undefined ? pieces : [...pieces, { kind: standsFor, bytes: file }]
    })
  const crls = read('crl', files.crls)
  const certificates = read('cert', files.certificates)
  const collateral = read('collateral', files.collateral)
  const rims = read('rim', files.rims)
  const ocsp = read('ocsp', files.ocsp)
  const all = [...crls, ...certificates, ...collateral, ...rims, ...ocsp, ...report]
  for (const [kind, limit] of Object.entries(limits)) {
    const { length } = all.filter((piece) => piece.kind === kind)
    if (length > limit) throw new UsageError(`${length} pieces of ${kind}, at most ${limit}`)
  }
  return {
    ...judgement,
    report,
    unknownReports: bytesOf(report, 'unknown').slice(0, 1),
    givenCrls: bytesOf(crls, 'crl'),
    all,
    unreadable,
  }
}

type Purpose = {
  readonly kinds: readonly Kind[]
  readonly code: AttestationErrorCode
  /** What a file without any of them counts as, so that verification refuses it by name. */
  readonly standsFor?: 'certificate' | 'crl' | 'rim' | 'ocsp'
}

const purposes = {
  cert: { kinds: ['certificate'], code: 'certificate_malformed', standsFor: 'certificate' },
  crl: { kinds: ['crl'], code: 'crl_invalid', standsFor: 'crl' },
  rim: { kinds: ['rim'], code: 'collateral_malformed', standsFor: 'rim' },
  ocsp: { kinds: ['ocsp'], code: 'evidence_malformed', standsFor: 'ocsp' },
  collateral: {
    kinds: ['tcb-info', 'qe-identity', 'tdx-collateral', 'certificate', 'crl', 'rim', 'ocsp'],
    code: 'collateral_malformed',
  },
} as const satisfies Readonly<Record<string, Purpose>>

/** A file that does not contain what it was given for is refused, whatever the kind of evidence. */
export function requireGivenFiles({ unreadable }: Inputs, transcript: Transcript): void {
  for (const { option, code } of unreadable) {
    transcript.fail(`evidence/${option}`, code, `a file given as --${option} holds none`)
  }
}

/** Undefined if the bytes are not a certificate; verification decides whether it is trusted. */
export function tryCertificate(bytes: Bytes): Certificate | undefined {
  try {
    return parseCertificate(bytes)
  } catch {
    return undefined
  }
}

/** DER of the issuer's name and the validity window of a list; undefined if it is not a list. */
export function tryCrl(bytes: Bytes) {
  try {
    return parseCrl(bytes)
  } catch {
    return undefined
  }
}

export const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  Buffer.compare(left, right) === 0

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
