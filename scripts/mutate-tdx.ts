/** Flips every bit of TDX evidence and prints what happened: node scripts/run.mjs scripts/mutate-tdx.ts [every]. */
import { formatBase64 } from '../packages/attestation/src/bytes.ts'
import { vendorRoots } from '../packages/attestation/src/roots.ts'
import { mutateTdx } from '../packages/attestation/src/testing/tdx-mutations.ts'
import {
  readPhalaCollateral,
  readTdxQuote,
} from '../packages/attestation/src/testing/tdx-vectors.ts'
import { makeTestIntel } from '../packages/attestation/src/testing/test-intel.ts'
import { every, showFlips } from './show-flips.ts'

const intel = await makeTestIntel()
const evidence = await intel.attest({ trailing: new Uint8Array(70) })
await showFlips('tdx, test root', mutateTdx(evidence, intel.context, every))
const quote = formatBase64(readTdxQuote('phala/tdx_quote'))
const real = { kind: 'tdx', quote, collateral: readPhalaCollateral('tdx_quote') } as const
const revocation = { allowUnknown: false, revokedGraceHours: 0 }
const context = { roots: vendorRoots, revocation, at: new Date('2025-07-01T00:00:00Z') }
await showFlips("tdx, Intel's root", mutateTdx(real, context, every))
