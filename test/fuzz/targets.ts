/** Every parser. Those of attestation have good inputs that take seconds to make. */
import { fuzzTargets } from '../../packages/attestation/src/testing/fuzz-targets.ts'
import { engineTargets } from './engine-targets.ts'
import { gatewayTargets } from './gateway-targets.ts'
import { machineTargets } from './machine-targets.ts'
import type { FuzzTarget } from './target.ts'
import { wireTargets } from './wire-targets.ts'
import { workerTargets } from './worker-targets.ts'

export const targets: readonly FuzzTarget[] = [
  ...wireTargets,
  ...workerTargets,
  ...engineTargets,
  ...gatewayTargets,
  ...machineTargets,
]

export async function attestationTargets(): Promise<FuzzTarget[]> {
  return (await fuzzTargets()).map(({ name, seeds, parse }) => ({ name, seeds, read: parse }))
}
