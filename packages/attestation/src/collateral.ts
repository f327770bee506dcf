/** For workers that staple collateral: what to request from the vendors, and how long a response is valid. */
export type { ReferenceIds } from './nvidia/reference-ids.ts'
export { readSignerChain } from './nvidia/xml-signature.ts'
export { type Endorsement, parseEndorsement } from './snp/endorsement.ts'
export {
  componentsOf,
  parseTcb,
  productOfCpu,
  type SnpProduct,
  snpProducts,
  type TcbComponent,
} from './snp/product.ts'
export { parseIssuerChain } from './tdx/issuer-chain.ts'
export { readPckPlatform } from './tdx/pck-certificate.ts'
export { type Dated, parseQeIdentity, parseTcbInfo } from './tdx/tcb-info.ts'
export { parseCrl } from './x509/crl.ts'
export { formatOcspRequest } from './x509/ocsp-request.ts'
export { parseOcspResponse } from './x509/ocsp-response.ts'
