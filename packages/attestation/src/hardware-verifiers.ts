/** The verifiers for protected hardware; importing only some keeps the others out of a bundle. */
import { appraiseNvidiaGpu } from './nvidia/appraise-nvidia.ts'
import { authenticateNvidiaGpu } from './nvidia/authenticate-nvidia.ts'
import { requireTopology } from './nvidia/topology.ts'
import { appraiseSnp } from './snp/appraise.ts'
import { authenticateSnp } from './snp/authenticate.ts'
import { appraiseTdx } from './tdx/appraise-tdx.ts'
import { authenticateTdx } from './tdx/authenticate-tdx.ts'
import type { HardwareVerifiers } from './verifiers.ts'

/** AMD SEV-SNP. */
export const snpVerifier = { authenticate: authenticateSnp, appraise: appraiseSnp }

/** Intel TDX. */
export const tdxVerifier = { authenticate: authenticateTdx, appraise: appraiseTdx }

/** NVIDIA GPUs and switches in confidential-computing mode. */
export const nvidiaGpuVerifier = {
  authenticate: authenticateNvidiaGpu,
  appraise: appraiseNvidiaGpu,
  requireTopology,
}

/** All of them, for programs without tight size limits. */
export const hardwareVerifiers = {
  snp: snpVerifier,
  tdx: tdxVerifier,
  nvidiaGpu: nvidiaGpuVerifier,
} as const satisfies HardwareVerifiers
