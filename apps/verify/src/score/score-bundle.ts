/** Assesses a backend by every factor, from a bundle saved by one of its clients. */
import {
  AttestationError,
  type Check,
  parseEvidenceBundle,
  type VerifyBundleInputs,
  verifyBundle,
} from '@privatemode/attestation'
import { blindGateway, type Factor, factors, gatewayFactors } from './factors.ts'
import { type FactorVerdict, notApplicable, type Seen } from './judge-factor.ts'

export type ScoredFactor = FactorVerdict & { readonly factor: string; readonly asks: string }

export type Score = {
  readonly factors: readonly ScoredFactor[]
  /** Why the backend as a whole is refused; undefined if it is verified. */
  readonly refusal: string | undefined
}

/** `gateway` is a bundle of a hosted proxy, if prompts pass through one. */
export async function scoreBundle(
  bundle: Uint8Array,
  gateway: Uint8Array | undefined,
  inputs: VerifyBundleInputs,
): Promise<Score> {
  const worker = await see(bundle, inputs)
  const hosted = gateway && (await see(gateway, { ...inputs, role: 'proxyless' }))
  return {
    factors: [
      ...factors.map((factor) => score(factor, worker.seen)),
      ...gatewayFactors.map((factor) =>
        hosted === undefined
          ? score({ ...factor, judge: notApplicable(blindGateway) }, worker.seen)
          : score(factor, hosted.seen),
      ),
    ],
    refusal: worker.refusal ?? hosted?.refusal,
  }
}

function score({ name, asks, judge }: Factor, seen: Seen): ScoredFactor {
  return { factor: name, asks, ...judge(seen) }
}

/** A refusal ends a verification: everything after it is shown as not checked. */
async function see(
  bytes: Uint8Array,
  inputs: VerifyBundleInputs,
): Promise<{ readonly seen: Seen; readonly refusal: string | undefined }> {
  const { evidence } = parseEvidenceBundle(bytes)
  const about = { kind: evidence.cpu.kind, hasDevices: evidence.devices.length > 0 }
  const seenWith = (checks: readonly Check[]): Seen => ({ ...about, checks })
  try {
    const { checks } = await verifyBundle(bytes, inputs)
    return { seen: seenWith(checks), refusal: undefined }
  } catch (error) {
    if (!(error instanceof AttestationError)) throw error
    return { seen: seenWith(error.checks), refusal: `${error.message} (${error.code})` }
  }
}
