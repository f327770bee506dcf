/** Which bits of TDX evidence may change without a refusal, and why; all others must not. */
import { formatBase64, parseBase64, utf8 } from '../bytes.ts'
import type { AuthenticityContext, TdxCollateral, TdxEvidence } from '../evidence.ts'
import { appraiseTdxWithoutManifest } from '../tdx/appraise-tdx.ts'
import { authenticateTdx } from '../tdx/authenticate-tdx.ts'
import { parseQuote } from '../tdx/quote.ts'
import { Transcript } from '../verdict.ts'
import { type FlipReport, flipBits, type Part } from './flip-bits.ts'

type Name = 'quote' | keyof TdxCollateral

const lists: readonly Name[] = ['pck_crl', 'root_ca_crl']

export async function mutateTdx(
  evidence: TdxEvidence,
  context: AuthenticityContext,
  every: number,
): Promise<FlipReport> {
  const verify = async (name: Name, mutant: Uint8Array): Promise<void> => {
    const transcript = new Transcript()
    const claims = await authenticateTdx(replacePart(evidence, name, mutant), context, transcript)
    appraiseTdxWithoutManifest(claims, transcript)
  }
  return flipBits(partsOf(evidence), verify, every)
}

function partsOf({ quote, collateral }: TdxEvidence): Part<Name>[] {
  const quoteBytes = parseBase64(quote)!
  const names = Object.keys(collateral) as (keyof TdxCollateral)[]
  return [
    { name: 'quote', bytes: quoteBytes, justify: justifyQuote(quoteBytes) },
    ...names.map((name): Part<Name> => {
      const bytes = lists.includes(name) ? parseBase64(collateral[name])! : utf8(collateral[name])
      const justify = justifyCollateral(name, bytes)
      return justify === undefined ? { name, bytes } : { name, bytes, justify }
    }),
  ]
}

function replacePart(evidence: TdxEvidence, name: Name, mutant: Uint8Array): TdxEvidence {
  if (name === 'quote') return { ...evidence, quote: formatBase64(mutant) }
  // Latin-1 maps one byte to one character, so bytes that are not UTF-8 remain a change.
  const value = lists.includes(name) ? formatBase64(mutant) : Buffer.from(mutant).toString('latin1')
  return { ...evidence, collateral: { ...evidence.collateral, [name]: value } }
}

function justifyQuote(quote: Uint8Array): NonNullable<Part<Name>['justify']> {
  const { certificateChain, trailingBytes } = parseQuote(quote)
  const chainEnd = quote.length - trailingBytes
  const chainStart = chainEnd - certificateChain.length
  const inChain = justifyPem(certificateChain)
  return (offset, bit) => {
    if (offset >= chainEnd) return 'padding after the quote: nothing reads it'
    return offset >= chainStart ? inChain(offset - chainStart, bit) : undefined
  }
}

function justifyCollateral(name: Name, bytes: Uint8Array): Part<Name>['justify'] {
  switch (name) {
    case 'pck_crl_issuer_chain':
      return () => 'not read: the list is verified with the key that issued the PCK certificate'
    case 'tcb_info_issuer_chain':
    case 'qe_identity_issuer_chain':
      return justifyPem(bytes)
    case 'tcb_info_signature':
    case 'qe_identity_signature':
      return (offset, bit) =>
        bit === 5 && /[a-f]/i.test(String.fromCharCode(bytes[offset]!))
          ? 'a hex digit in upper case is the same digit'
          : undefined
    default:
      return undefined
  }
}

/** White space of RFC 7468 (W) that stays white space, and text between the blocks. */
export function justifyPem(pem: Uint8Array): NonNullable<Part<Name>['justify']> {
  const text = Buffer.from(pem).toString('latin1')
  const blocks = [...text.matchAll(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g)]
  return (offset, bit) => {
    const isInside = blocks.some(
      ({ index, 0: block }) => offset >= index && offset < index + block.length,
    )
    if (!isInside) return 'text between certificates: RFC 7468 has readers pass over it'
    const changed = String.fromCharCode(pem[offset]! ^ (1 << bit))
    return /\s/.test(text[offset]!) && /\s/.test(changed)
      ? 'white space in PEM that became other white space'
      : undefined
  }
}
