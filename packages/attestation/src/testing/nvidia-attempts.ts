/** Runs the NVIDIA verifier over evidence of one test vendor, complete or with one change. */
import { expect } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { type Bytes, formatBase64 } from '../bytes.ts'
import type { AuthenticityContext, NvidiaGpuEvidence } from '../evidence.ts'
import { authenticateNvidiaGpu } from '../nvidia/authenticate-nvidia.ts'
import type { NvidiaGpuClaims } from '../nvidia/claims.ts'
import { type AttestationErrorCode, Transcript } from '../verdict.ts'
import {
  type GpuReport,
  gpuEvidence,
  gpuReport,
  makeNvidiaWorld,
  signReport,
} from './nvidia-world.ts'
import { type RimParts, signRim, writeRim } from './rim-writer.ts'
import { testNow } from './test-authority.ts'

export const world = await makeNvidiaWorld()
/** With the same names and different keys. */
export const otherWorld = await makeNvidiaWorld()
export const good = await gpuEvidence(world)
export const goodNonce: Bytes = new Uint8Array(32).fill(0x11)

export const contextOf = (change: Partial<AuthenticityContext> = {}): AuthenticityContext => ({
  roots: world.roots,
  revocation: { allowUnknown: false, revokedGraceHours: 0 },
  at: testNow,
  ...change,
})

export type Attempt = {
  readonly nonce?: Uint8Array | undefined
  readonly context?: AuthenticityContext
}

export const authenticate = (
  evidence: NvidiaGpuEvidence,
  attempt: Attempt = {},
  transcript = new Transcript(),
): Promise<NvidiaGpuClaims> =>
  authenticateNvidiaGpu(
    evidence,
    'nonce' in attempt ? attempt.nonce : goodNonce,
    attempt.context ?? contextOf(),
    transcript,
  )

/** Expects a refusal with `code`, by the check `id` and no other. */
export async function refused(
  evidence: NvidiaGpuEvidence,
  code: AttestationErrorCode,
  id: string,
  attempt: Attempt = {},
): Promise<void> {
  const transcript = new Transcript()
  expect(await rejection(authenticate(evidence, attempt, transcript))).toMatchObject({ code })
  expect(transcript.checks.at(-1)).toMatchObject({ id, result: 'failed' })
}

export const withReport = async (change: Partial<GpuReport>): Promise<NvidiaGpuEvidence> => ({
  ...good,
  report: formatBase64(await signReport(world, gpuReport(world, change))),
})

/** With one opaque field changed or omitted. */
export function withOpaque(
  type: number,
  value: Uint8Array | undefined,
): Promise<NvidiaGpuEvidence> {
  const rest = gpuReport(world).opaque.filter((part) => part.type !== type)
  return withReport({ opaque: value ? [...rest, { type, value }] : rest })
}

export async function withRims(...rims: readonly RimParts[]): Promise<NvidiaGpuEvidence> {
  const signed: string[] = []
  for (const rim of rims) signed.push(formatBase64(await signRim(writeRim(rim), world.rimSigner)))
  return { ...good, rims: signed }
}
