/** Verifies the two documents Intel signs, TCB info and QE identity, before they are used. */
import { type Bytes, parseHex, utf8 } from '../bytes.ts'
import type { AuthenticityContext, TdxCollateral } from '../evidence.ts'
import type { Transcript } from '../verdict.ts'
import { formatTime, isWithin } from '../x509/chain.ts'
import { requireUnlisted, type VerifiedCrl } from '../x509/crl.ts'
import { verifySignature } from '../x509/signature.ts'
import { parseIssuerChain, verifyIssuerChain } from './issuer-chain.ts'
import {
  type Dated,
  parseQeIdentity,
  parseTcbInfo,
  type QeIdentity,
  type TcbInfo,
} from './tcb-info.ts'

export const ecdsaP256 = { kind: 'ecdsa', hash: 'SHA-256', encoding: 'raw' } as const

export type VerifiedCollateral = { readonly tcbInfo: TcbInfo; readonly qeIdentity: QeIdentity }

/** Missing parts are refused by name, before any of the rest is examined. */
export function requireCollateral(collateral: TdxCollateral, transcript: Transcript): void {
  const needed = [
    'tcb_info',
    'tcb_info_signature',
    'tcb_info_issuer_chain',
    'qe_identity',
    'qe_identity_signature',
    'qe_identity_issuer_chain',
  ] as const
  const missing = needed.filter((name) => collateral[name] === '')
  transcript.require(
    missing.length === 0,
    'tdx/collateral',
    'collateral_missing',
    missing.length === 0 ? 'TCB info and QE identity are there' : `missing: ${missing.join(', ')}`,
  )
}

export async function verifyCollateral(
  collateral: TdxCollateral,
  rootCrl: VerifiedCrl,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<VerifiedCollateral> {
  const verify = async <T extends Dated>(
    id: string,
    document: SignedDocument,
    parse: (bytes: Bytes) => T,
  ): Promise<T> => verifyDocument({ ...document, id, parse }, rootCrl, context, transcript)
  return {
    tcbInfo: await verify(
      'tdx/tcb-info',
      {
        text: collateral.tcb_info,
        signatureHex: collateral.tcb_info_signature,
        issuerChain: collateral.tcb_info_issuer_chain,
      },
      parseTcbInfo,
    ),
    qeIdentity: await verify(
      'tdx/qe-identity',
      {
        text: collateral.qe_identity,
        signatureHex: collateral.qe_identity_signature,
        issuerChain: collateral.qe_identity_issuer_chain,
      },
      parseQeIdentity,
    ),
  }
}

type SignedDocument = {
  readonly text: string
  readonly signatureHex: string
  readonly issuerChain: string
}

async function verifyDocument<T extends Dated>(
  document: SignedDocument & { readonly id: string; readonly parse: (bytes: Bytes) => T },
  rootCrl: VerifiedCrl,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<T> {
  const { id } = document
  const certificates = transcript.attempt(`${id}/chain`, () =>
    parseIssuerChain(utf8(document.issuerChain)),
  )
  const [signer] = await verifyIssuerChain(certificates, 2, context, transcript, `${id}/chain`)
  requireUnlisted(rootCrl, signer, transcript, `${id}/signer-revocation`)
  // The exact bytes Intel signed: parsing and formatting again could yield different ones.
  const bytes = utf8(document.text)
  const signature = parseHex(document.signatureHex.toLowerCase())
  transcript.require(
    signature !== undefined && (await verifySignature(signer.spki, ecdsaP256, bytes, signature)),
    `${id}/signature`,
    'collateral_invalid',
    'the document must be signed by the TCB signer',
  )
  const parsed = transcript.attempt(`${id}/content`, () => document.parse(bytes))
  transcript.require(
    isWithin(context.at, parsed.issueDate, parsed.nextUpdate),
    `${id}/window`,
    'collateral_stale',
    `holds ${formatTime(parsed.issueDate)} to ${formatTime(parsed.nextUpdate)}, time is ${formatTime(context.at)}`,
  )
  return parsed
}
