/** The verdicts of our verifier and of an independent one on a TDX quote. */
import { QuoteVerifier } from '@phala/dcap-qvl'
import { formatBase64, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, TdxCollateral } from '../evidence.ts'
import { authenticateTdx } from '../tdx/authenticate-tdx.ts'
import { AttestationError, Transcript } from '../verdict.ts'

/** The TCB status of an accepted quote, or "refused". */
export type Verdict = string

export async function ours(
  quote: Uint8Array,
  collateral: TdxCollateral,
  context: AuthenticityContext,
): Promise<Verdict> {
  const evidence = { kind: 'tdx', quote: formatBase64(quote), collateral } as const
  try {
    return (await authenticateTdx(evidence, context, new Transcript())).tcb.status
  } catch (error) {
    if (!(error instanceof AttestationError)) throw error
    return 'refused'
  }
}

export function theirs(
  quote: Uint8Array,
  collateral: TdxCollateral,
  at: Date,
  verifier: QuoteVerifier = QuoteVerifier.newProd(),
): Verdict {
  const hex = (base64: string) => (parseBase64(base64) ?? new Uint8Array()).toHex()
  const { pck_crl, root_ca_crl } = collateral
  const recoded = { ...collateral, pck_crl: hex(pck_crl), root_ca_crl: hex(root_ca_crl) }
  try {
    return verifier.verify(Buffer.from(quote), recoded as never, at.getTime() / 1000).status
  } catch {
    return 'refused'
  }
}
