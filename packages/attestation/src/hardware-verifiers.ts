/** The verifiers for protected hardware; importing only some keeps the others out of a bundle. */
import { readNvidiaDevices } from './manifest/device-rule.ts'
import { appraiseNvidiaGpu } from './nvidia/appraise-nvidia.ts'
import { authenticateNvidiaGpu } from './nvidia/authenticate-nvidia.ts'
import { requireTopology } from './nvidia/topology.ts'
import { amdRoots, intelRoot, nvidiaDeviceRoot, nvidiaRimRoot } from './roots.ts'
import { appraiseSnp } from './snp/appraise.ts'
import { authenticateSnp } from './snp/authenticate.ts'
import { readSnpRule } from './snp/rule.ts'
import { appraiseTdx } from './tdx/appraise-tdx.ts'
import { authenticateTdx } from './tdx/authenticate-tdx.ts'
import { readTdxRule } from './tdx/rule.ts'
import type { HardwareVerifiers } from './verifiers.ts'

/** AMD SEV-SNP. */
export const snpVerifier = {
  readRule: readSnpRule,
  authenticate: authenticateSnp,
  appraise: appraiseSnp,
  // Pure, so that bundles without this verifier leave it out.
  roots: { amd: /* @__PURE__ */ Object.values(amdRoots) },
}

/** Intel TDX. */
export const tdxVerifier = {
  readRule: readTdxRule,
  authenticate: authenticateTdx,
  appraise: appraiseTdx,
  roots: { intel: [intelRoot] },
}

/** NVIDIA GPUs and switches in confidential-computing mode. */
export const nvidiaGpuVerifier = {
  readRule: readNvidiaDevices,
  authenticate: authenticateNvidiaGpu,
  appraise: appraiseNvidiaGpu,
  requireTopology,
  roots: { nvidiaDevice: [nvidiaDeviceRoot], nvidiaRim: [nvidiaRimRoot] },
}

/** All of them, for programs without tight size limits. */
export const hardwareVerifiers = {
  snp: snpVerifier,
  tdx: tdxVerifier,
  nvidiaGpu: nvidiaGpuVerifier,
} as const satisfies HardwareVerifiers
