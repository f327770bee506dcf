/** Flips bits of everything in a software worker's bundle: all of it is signed, bound or logged. */
import { type Bundle, formatEvidenceBundle } from '../bundle/bundle.ts'
import { verifyBundle } from '../bundle/verify-bundle.ts'
import { formatBase64, parseBase64 } from '../bytes.ts'
import type { SoftwareEvidence } from '../evidence.ts'
import { type FlipReport, flipBits } from './flip-bits.ts'
import { type SoftwareBundle, softwareBundle } from './software-bundle.ts'
import { softwareWorld } from './software-world.ts'

/** No part has a justification: not a single bit may change. */
export async function mutateSoftware(every: number): Promise<FlipReport> {
  const good = await softwareBundle(await softwareWorld())
  await verify(good, good.bundle)
  const { bundle } = good
  const cpu = bundle.evidence.cpu as SoftwareEvidence
  const receipt = bundle.receipt!
  const parts = {
    nonce: bundle.nonce,
    statement: bundle.statement,
    report: parseBase64(cpu.report)!,
    signature: parseBase64(cpu.signature)!,
    leaf: parseBase64(cpu.certificates[0]!)!,
    root: parseBase64(cpu.certificates[1]!)!,
    manifest: bundle.manifest,
    'log proof': bundle.logProof!,
    'receipt record': receipt.record,
    'receipt rest': receipt.rest,
    'receipt signature': receipt.signature,
  }
  type Name = keyof typeof parts
  const change = (name: Name, mutant: Uint8Array): Partial<Bundle> => {
    const bytes = new Uint8Array(mutant)
    const withCpu = (changes: Partial<SoftwareEvidence>) => ({
      evidence: { cpu: { ...cpu, ...changes }, devices: [] },
    })
    const [leaf = '', root = ''] = cpu.certificates
    switch (name) {
      case 'nonce':
      case 'statement':
      case 'manifest':
        return { [name]: bytes }
      case 'report':
      case 'signature':
        return withCpu({ [name]: formatBase64(bytes) })
      case 'leaf':
        return withCpu({ certificates: [formatBase64(bytes), root] })
      case 'root':
        return withCpu({ certificates: [leaf, formatBase64(bytes)] })
      case 'log proof':
        return { logProof: bytes }
      case 'receipt record':
        return { receipt: { ...receipt, record: bytes } }
      case 'receipt rest':
        return { receipt: { ...receipt, rest: bytes } }
      case 'receipt signature':
        return { receipt: { ...receipt, signature: bytes } }
    }
  }
  return flipBits(
    Object.entries(parts).map(([name, bytes]) => ({ name: name as Name, bytes })),
    (name, mutant) => verify(good, { ...bundle, ...change(name, mutant) }),
    every,
  )
}

const verify = (good: SoftwareBundle, bundle: Bundle) =>
  verifyBundle(formatEvidenceBundle(bundle), good.inputs)
