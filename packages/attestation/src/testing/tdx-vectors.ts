/** Real TDX quotes and collateral, read from the vectors in the forms their publishers chose. */
import { type Bytes, formatBase64, parseBase64, parseHex } from '../bytes.ts'
import type { TdxCollateral } from '../evidence.ts'
import { readVector, readVectorText } from './vectors.ts'

export const readTdxQuote = (path: string): Bytes => {
  if (path === 'dstack/quote-report.json') {
    return parseHex(JSON.parse(readVectorText(`tdx/${path}`)).quote)!
  }
  if (path.startsWith('teekit/')) {
    return parseBase64(JSON.parse(readVectorText(`tdx/${path}`)).tdx.quote)!
  }
  return readVector(`tdx/${path}`)
}

/** Phala's form has the lists in hex. */
export function readPhalaCollateral(name: string): TdxCollateral {
  const collateral = JSON.parse(readVectorText(`tdx/phala/${name}_collateral.json`))
  const recode = (hex: string) => formatBase64(parseHex(hex)!)
  return {
    ...collateral,
    pck_crl: recode(collateral.pck_crl),
    root_ca_crl: recode(collateral.root_ca_crl),
  }
}

/** From Intel's response: the exact text of the member next to the signature, and the signature. */
export function splitSigned(path: string, member: 'tcbInfo' | 'enclaveIdentity') {
  const text = readVectorText(`tdx/${path}`).trim()
  const match = new RegExp(`^\\{"${member}":(.*),"signature":"([0-9a-f]{128})"\\}$`, 's').exec(text)
  return { text: match![1]!, signature: match![2]! }
}
