/** Intel TDX: combines quote, signed documents and lists, wherever they were given. */
import {
  appraiseTdx,
  appraiseTdxWithoutManifest,
  authenticateTdx,
  type TdxClaims,
  type TdxCollateral,
  type TdxEvidence,
} from '@privatemode/attestation'
import {
  type Certificate,
  parseIssuerChain,
  parseQuote,
  readPckPlatform,
  readQuoteClaims,
  type TdxQuote,
} from '@privatemode/attestation/inspect'
import { type Bytes, bytesOf, type SignedDocument } from '../files/piece.ts'
import { appraiseByRules, workerRules } from './appraise-by-rules.ts'
import { type Inputs, sameBytes, toBase64, tryCertificate, tryCrl } from './inputs.ts'
import { requireReportData } from './report-data.ts'
import type { Verifier } from './verifier.ts'

export const tdxVerifier: Verifier<TdxEvidence, TdxClaims> = {
  findReports: ({ report }) => bytesOf(report, 'tdx-quote'),
  assemble,
  authenticate: async (evidence, inputs, transcript) => {
    const claims = await authenticateTdx(evidence, inputs.context, transcript)
    requireReportData('tdx', claims.reportData, inputs.nonce, transcript)
    return claims
  },
  requireAlways: appraiseTdxWithoutManifest,
  inspect,
  appraise: (claims, inputs, transcript) => {
    const rules = workerRules(inputs).flatMap((one) => (one.kind === 'tdx' ? [one.rule] : []))
    appraiseByRules('tdx', rules, transcript, (rule, attempt) => appraiseTdx(claims, rule, attempt))
  },
}

function assemble(quoteBytes: Bytes, inputs: Inputs): TdxEvidence[] {
  const quote = tryQuote(quoteBytes)
  const platform = platformOf(quote)
  const tcbInfos = documents(inputs, 'tcb-info').sort(
    (a, b) => rank(b, inputs, platform.fmspc) - rank(a, inputs, platform.fmspc),
  )
  const identities = documents(inputs, 'qe-identity').sort(
    (a, b) => rank(b, inputs) - rank(a, inputs),
  )
  const lists = chooseLists(inputs, platform)
  const chains = signerChains(inputs, platform.root)
  return chains.map((chain) => ({
    kind: 'tdx',
    quote: toBase64(quoteBytes),
    collateral: {
      tcb_info: tcbInfos[0]?.text ?? '',
      tcb_info_signature: tcbInfos[0]?.signature ?? '',
      tcb_info_issuer_chain: tcbInfos[0] === undefined ? '' : (tcbInfos[0].issuerChain ?? chain),
      qe_identity: identities[0]?.text ?? '',
      qe_identity_signature: identities[0]?.signature ?? '',
      qe_identity_issuer_chain:
        identities[0] === undefined ? '' : (identities[0].issuerChain ?? chain),
      pck_crl_issuer_chain: '',
      ...lists,
    },
  }))
}

type Platform = {
  readonly intermediate?: Certificate
  readonly root?: Certificate
  readonly fmspc?: string
}

function tryQuote(bytes: Bytes): TdxQuote | undefined {
  try {
    return parseQuote(bytes)
  } catch {
    return undefined
  }
}

/** Read from the quote's own chain, to find what belongs to it; verified later. */
function platformOf(quote: TdxQuote | undefined): Platform {
  if (quote === undefined) return {}
  try {
    const chain = parseIssuerChain(quote.certificateChain)
    const pck = chain.find(({ isCa }) => !isCa)
    const intermediate = chain.find(({ subject }) => pck && sameBytes(subject, pck.issuer))
    const root = chain.find(
      ({ subject }) => intermediate && sameBytes(subject, intermediate.issuer),
    )
    return {
      ...(intermediate && { intermediate }),
      ...(root && { root }),
      ...(pck && { fmspc: Buffer.from(readPckPlatform(pck).fmspc).toString('hex') }),
    }
  } catch {
    return {}
  }
}

function documents(inputs: Inputs, kind: 'tcb-info' | 'qe-identity'): SignedDocument[] {
  const names =
    kind === 'tcb-info'
      ? (['tcb_info', 'tcb_info_signature', 'tcb_info_issuer_chain'] as const)
      : (['qe_identity', 'qe_identity_signature', 'qe_identity_issuer_chain'] as const)
  return inputs.all.flatMap((piece): SignedDocument[] => {
    if (piece.kind === kind) return [piece.document]
    if (piece.kind !== 'tdx-collateral') return []
    const [text, signature = '', issuerChain] = names.map((name) => piece.fields[name])
    if (text === undefined || text === '') return []
    return [{ text, signature, ...(issuerChain !== undefined && { issuerChain }) }]
  })
}

/** Documents for this platform and this time come first, so that those are verified. */
function rank({ text }: SignedDocument, { context }: Inputs, platform?: string): number {
  let document: Record<string, unknown>
  try {
    document = JSON.parse(text)
  } catch {
    return -1
  }
  const { id, fmspc, issueDate, nextUpdate } = document
  const isOurs = platform === undefined || String(fmspc).toLowerCase() === platform
  const from = Date.parse(String(issueDate))
  const until = Date.parse(String(nextUpdate))
  const isCurrent = from <= context.at.getTime() && context.at.getTime() <= until
  return (isOurs ? 4 : 0) + (id === 'TDX' || id === 'TD_QE' ? 2 : 0) + (isCurrent ? 1 : 0)
}

/** Lists by their issuer's name. Anything given as a list that is not one is included, too. */
function chooseLists(
  inputs: Inputs,
  { intermediate, root }: Platform,
): Pick<TdxCollateral, 'pck_crl' | 'root_ca_crl'> {
  const loose = bytesOf(inputs.all, 'crl')
  const garbage = inputs.givenCrls.find((bytes) => tryCrl(bytes) === undefined)
  const choose = (field: 'pck_crl' | 'root_ca_crl', issuer: Certificate | undefined): string => {
    const own = loose.filter((bytes) => {
      const crl = tryCrl(bytes)
      return crl !== undefined && issuer !== undefined && sameBytes(crl.issuer, issuer.subject)
    })
    own.sort((a, b) => Number(isCurrent(b, inputs)) - Number(isCurrent(a, inputs)))
    const [list] = own
    if (list !== undefined) return toBase64(list)
    const named = inputs.all.flatMap((piece) =>
      piece.kind === 'tdx-collateral' ? [piece.fields[field] ?? ''] : [],
    )
    const foreign = loose.find((bytes) => tryCrl(bytes) !== undefined)
    return named.find((value) => value !== '') ?? (foreign ? toBase64(foreign) : '')
  }
  return {
    pck_crl: choose('pck_crl', intermediate),
    root_ca_crl: garbage === undefined ? choose('root_ca_crl', root) : toBase64(garbage),
  }
}

function isCurrent(bytes: Bytes, { context }: Inputs): boolean {
  const crl = tryCrl(bytes)
  if (crl?.nextUpdate === undefined) return false
  return crl.thisUpdate <= context.at && context.at <= crl.nextUpdate
}

/** Chains for documents that came without one: each signer certified by the root, and the root. */
function signerChains(inputs: Inputs, root: Certificate | undefined): string[] {
  const fromFields = inputs.all.flatMap((piece) =>
    piece.kind === 'tdx-collateral'
      ? [piece.fields.tcb_info_issuer_chain, piece.fields.qe_identity_issuer_chain]
      : [],
  )
  const signers = bytesOf(inputs.all, 'certificate').filter((bytes) => {
    const certificate = tryCertificate(bytes)
    if (certificate === undefined || root === undefined || certificate.isCa) return false
    return sameBytes(certificate.issuer, root.subject)
  })
  const built = signers.map((bytes) => formatPem(bytes) + formatPem(root?.der ?? bytes))
  const chains = [...fromFields.filter((chain) => chain !== undefined && chain !== ''), ...built]
  return chains.length > 0 ? [...new Set(chains as string[])] : ['']
}

function formatPem(der: Uint8Array): string {
  const body = toBase64(der).replace(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`
}

function inspect(evidence: TdxEvidence): unknown {
  const quote = tryQuote(new Uint8Array(Buffer.from(evidence.quote, 'base64')))
  if (quote === undefined) return {}
  const { fmspc } = platformOf(quote)
  return { ...readQuoteClaims(quote), ...(fmspc !== undefined && { fmspc }) }
}
