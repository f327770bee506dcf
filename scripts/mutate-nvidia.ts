/** Flips every bit of NVIDIA evidence and prints what happened: node scripts/run.mjs scripts/mutate-nvidia.ts [every]. */
import { mutateNvidia } from '../packages/attestation/src/testing/nvidia-mutations.ts'
import { readSwitchVector } from '../packages/attestation/src/testing/nvidia-vectors.ts'
import {
  gpuEvidence,
  gpuReport,
  makeNvidiaWorld,
  signReport,
} from '../packages/attestation/src/testing/nvidia-world.ts'
import { testNow } from '../packages/attestation/src/testing/test-authority.ts'
import { every, showFlips } from './show-flips.ts'

const world = await makeNvidiaWorld()
const gpu = gpuReport(world)
// With the one byte that may follow a report, so that its bits are flipped too.
const report = new Uint8Array([...(await signReport(world, gpu)), 0])
const evidence = await gpuEvidence(world, { report })
const revocation = { allowUnknown: false, revokedGraceHours: 0 }
const context = { roots: world.roots, revocation, at: testNow }
await showFlips('nvidia, test root', mutateNvidia(evidence, gpu.nonce, context, every))
const real = readSwitchVector()
const flipping = mutateNvidia(real.evidence, real.nonce, real.context, every)
await showFlips("nvidia, NVIDIA's roots", flipping)
