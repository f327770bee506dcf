/** The vendors' root certificates, pinned by the SHA-256 of their DER. */
import type { Roots } from './evidence.ts'

/** AMD Root Keys, one per product line; the product follows from the root that signed. */
export const amdRoots = {
  Milan: '69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd',
  Genoa: '4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1',
  Turin: '1f084161a44bb6d93778a904877d4819cafa5d05ef4193b2ded9dd9c73dd3f6a',
} as const

/** "Intel SGX Root CA", which also certifies TDX platforms. */
export const intelRoot = '44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3'

/** "NVIDIA Device Identity CA". */
export const nvidiaDeviceRoot = '102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48'

/** "NVIDIA CoRIM signing Root CA", which certifies the signers of reference measurements. */
export const nvidiaRimRoot = '12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1'

/** What production trusts: hardware vendors, and no software root. */
export const vendorRoots: Roots = {
  amd: Object.values(amdRoots),
  intel: [intelRoot],
  nvidiaDevice: [nvidiaDeviceRoot],
  nvidiaRim: [nvidiaRimRoot],
  software: [],
}
