/** Every parser outside the attestation package, which has a fuzzer of its own. */
import type { FuzzTarget } from './target.ts'
import { wireTargets } from './wire-targets.ts'
import { workerTargets } from './worker-targets.ts'

export const targets: readonly FuzzTarget[] = [...wireTargets, ...workerTargets]
