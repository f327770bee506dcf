/** What a call of `evidence` brings: files taken apart, and how to judge them. */
import type { AuthenticityContext, Manifest } from '@privatemode/attestation'
import { type Certificate, parseCertificate, parseCrl } from '@privatemode/attestation/inspect'
import { type Bytes, bytesOf, type Piece } from '../files/piece.ts'
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
  /** 32 bytes for a GPU; for a CPU, what REPORT_DATA begins with before zeros. */
  readonly nonce: Bytes | undefined
  readonly manifest: Manifest | undefined
}

export type Inputs = Judgement & {
  /** What the report's file holds. */
  readonly report: readonly Piece[]
  /** What was given as a list: it is judged, also where it is none. */
  readonly givenCrls: readonly Bytes[]
  /** Everything, the report's file included. */
  readonly all: readonly Piece[]
  /** Bytes in the report's file that look like nothing; for a verifier to refuse. */
  readonly unknownReports: readonly Bytes[]
}

export function readInputs(files: Files, judgement: Judgement): Inputs {
  const report = readPieces(files.report)
  const certificates = files.certificates.flatMap((file) => readAs(file, 'certificate'))
  const crls = files.crls.flatMap((file) => readAs(file, 'crl'))
  const rims = files.rims.flatMap((file) => readAs(file, 'rim'))
  const ocsp = files.ocsp.flatMap((file) => readAs(file, 'ocsp'))
  const collateral = files.collateral.flatMap((file) => readPieces(file))
  return {
    ...judgement,
    report,
    unknownReports: bytesOf(report, 'unknown').slice(0, 1),
    givenCrls: bytesOf(crls, 'crl'),
    all: [...crls, ...certificates, ...collateral, ...rims, ...ocsp, ...report],
  }
}

/** A file that holds nothing of what it was given as stands for itself, and will be refused. */
function readAs(file: Bytes, kind: 'certificate' | 'crl' | 'rim' | 'ocsp'): Piece[] {
  const pieces = readPieces(file)
  return pieces.some((piece) => piece.kind === kind) ? pieces : [...pieces, { kind, bytes: file }]
}

/** Undefined where the bytes are no certificate; whether it is trusted, verification says. */
export function tryCertificate(bytes: Bytes): Certificate | undefined {
  try {
    return parseCertificate(bytes)
  } catch {
    return undefined
  }
}

/** DER of the issuer's name and the window of a list; undefined where it is none. */
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
