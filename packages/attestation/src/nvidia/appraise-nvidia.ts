/** Decides whether the manifest accepts an authentic NVIDIA device. */
import type { Transcript } from '../verdict.ts'
import type { NvidiaGpuClaims } from './claims.ts'
import type { NvidiaGpuRule, VersionRule } from './rule.ts'
import { isAtLeast, type VersionKind } from './version.ts'

export function appraiseNvidiaGpu(
  claims: NvidiaGpuClaims,
  rule: NvidiaGpuRule,
  transcript: Transcript,
): void {
  transcript.require(
    rule.architectures.includes(claims.architecture),
    'nvidia/manifest/architecture',
    'policy_refused',
    `architecture is ${claims.architecture}, manifest lists ${rule.architectures.join(', ')}`,
  )
  requireSerial(claims, rule, transcript)
  // A switch has no mode of its own: it is in the mode of the GPUs that its topology names.
  if (rule.modes && claims.device === 'gpu') {
    transcript.require(
      claims.mode !== undefined && rule.modes.includes(claims.mode),
      'nvidia/manifest/mode',
      'policy_refused',
      `mode is ${claims.mode ?? 'not stated'}, manifest lists ${rule.modes.join(', ')}`,
    )
  }
  if (claims.driverVersion === undefined) {
    transcript.skip('nvidia/manifest/driver', 'a switch runs no driver of its own')
  } else {
    requireVersion('driver', claims.driverVersion, rule.driver, transcript)
  }
  requireVersion('vbios', claims.vbiosVersion, rule.vbios, transcript)
}

function requireSerial(claims: NvidiaGpuClaims, rule: NvidiaGpuRule, transcript: Transcript) {
  const id = 'nvidia/manifest/serial'
  const listed = claims.device === 'gpu' ? rule.gpuSerials : rule.switchSerials
  if (listed === undefined) {
    transcript.skip(id, `the manifest lists none; this ${claims.device} is ${claims.deviceId}`)
    return
  }
  transcript.require(
    listed.includes(claims.deviceId),
    id,
    'policy_refused',
    `${claims.device} is ${claims.deviceId}, manifest lists ${listed.join(', ')}`,
  )
}

function requireVersion(
  kind: VersionKind,
  version: string,
  rule: VersionRule,
  transcript: Transcript,
): void {
  const id = `nvidia/manifest/${kind}`
  switch (rule.kind) {
    case 'allowed':
      transcript.require(
        rule.versions.includes(version),
        id,
        'tcb_unlisted',
        `${kind} is ${version}, manifest lists ${rule.versions.join(', ')}`,
      )
      return
    case 'minimum':
      transcript.require(
        isAtLeast(kind, version, rule.version),
        id,
        'tcb_too_old',
        `${kind} is ${version}, manifest demands at least ${rule.version}`,
      )
  }
}
