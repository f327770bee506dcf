/** What a TDX quote claims; measurements are lower-case hex, as in manifests. */
import { type Bytes, formatHex } from '../bytes.ts'
import type { CrlClaims } from '../x509/crl.ts'
import type { TdxQuote } from './quote.ts'
import type { TcbClaims } from './tcb.ts'

/** Read from the quote alone: only valid if the quote is authentic. */
export type TdxQuoteClaims = {
  readonly kind: 'tdx'
  readonly quoteVersion: 4 | 5
  readonly teeTcbSvn: string
  readonly mrSeam: string
  readonly mrSignerSeam: string
  readonly seamAttributes: string
  readonly tdAttributes: string
  readonly xfam: string
  readonly mrTd: string
  readonly mrConfigId: string
  readonly mrOwner: string
  readonly mrOwnerConfig: string
  readonly rtmr0: string
  readonly rtmr1: string
  readonly rtmr2: string
  readonly rtmr3: string
  readonly reportData: Bytes
  /** The last two exist only in version 5 with body type 3. */
  readonly teeTcbSvn2?: string
  readonly mrServiceTd?: string
}

/** With what the platform's certificate and Intel's documents add. */
export type TdxPlatformClaims = TdxQuoteClaims & {
  readonly fmspc: string
  readonly pceId: string
  /** Identifies the machine: PPID and, if the platform has one, its instance id. */
  readonly platformIds: readonly string[]
  readonly crls: { readonly root: CrlClaims; readonly pck: CrlClaims }
  readonly tcb: TcbClaims
}

declare const authentic: unique symbol

/** Created only by `authenticateTdx`. */
export type TdxClaims = TdxPlatformClaims & { readonly [authentic]: true }

export function readQuoteClaims(quote: TdxQuote): TdxQuoteClaims {
  const { report } = quote
  const [rtmr0, rtmr1, rtmr2, rtmr3] = report.rtmrs
  return {
    kind: 'tdx',
    quoteVersion: quote.version,
    teeTcbSvn: formatHex(report.teeTcbSvn),
    mrSeam: formatHex(report.mrSeam),
    mrSignerSeam: formatHex(report.mrSignerSeam),
    seamAttributes: formatHex(report.seamAttributes),
    tdAttributes: formatHex(report.tdAttributes),
    xfam: formatHex(report.xfam),
    mrTd: formatHex(report.mrTd),
    mrConfigId: formatHex(report.mrConfigId),
    mrOwner: formatHex(report.mrOwner),
    mrOwnerConfig: formatHex(report.mrOwnerConfig),
    rtmr0: formatHex(rtmr0),
    rtmr1: formatHex(rtmr1),
    rtmr2: formatHex(rtmr2),
    rtmr3: formatHex(rtmr3),
    reportData: report.reportData,
    ...(report.teeTcbSvn2 && { teeTcbSvn2: formatHex(report.teeTcbSvn2) }),
    ...(report.mrServiceTd && { mrServiceTd: formatHex(report.mrServiceTd) }),
  }
}
