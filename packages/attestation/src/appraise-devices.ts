/** Appraises the devices in a machine: as many as the manifest demands, all distinct, all acceptable. */
import type { DeviceClaims } from './authenticate-worker.ts'
import type { Range } from './fields.ts'
import type { DeviceRules } from './manifest/device-rule.ts'
import type { Transcript } from './verdict.ts'
import type { NvidiaGpuVerifier } from './verifiers.ts'

export function appraiseDevices(
  devices: readonly DeviceClaims[],
  rules: DeviceRules,
  verifier: NvidiaGpuVerifier | undefined,
  transcript: Transcript,
): void {
  const { nvidiaGpu } = rules
  if (nvidiaGpu === undefined) {
    transcript.require(
      devices.length === 0,
      'devices/unlisted',
      'policy_refused',
      `${devices.length} devices, the manifest lists none`,
    )
    return
  }
  if (nvidiaGpu === 'unread' || verifier === undefined) refuseUnverifiable(transcript)
  const ids = devices.map(({ claims }) => claims.deviceId)
  transcript.require(
    new Set(ids).size === ids.length,
    'devices/distinct',
    'policy_refused',
    `devices ${ids.join(', ') || 'none'} must all be different`,
  )
  const counted = (device: 'gpu' | 'switch') =>
    devices.filter(({ claims }) => claims.device === device).length
  requireCount('nvidia-gpu', counted('gpu'), nvidiaGpu.count, transcript)
  requireCount('nvidia-switch', counted('switch'), nvidiaGpu.switches, transcript)
  const { requireTopology, appraise } = verifier
  requireTopology(
    devices.map(({ claims }) => claims),
    transcript,
  )
  for (const { claims } of devices) appraise(claims, nvidiaGpu.rule, transcript)
}

// Authentication has refused them before; claims that cannot be appraised are not acceptable.
function refuseUnverifiable(transcript: Transcript): never {
  const detail = 'no verifier for nvidia-gpu evidence is available here'
  return transcript.fail('nvidia-gpu/verifier', 'evidence_unsupported', detail)
}

function requireCount(kind: string, count: number, range: Range, transcript: Transcript): void {
  const detail = `${count} of ${kind}, manifest expects ${range.min} to ${range.max}`
  transcript.require(count >= range.min, `devices/${kind}`, 'device_missing', detail)
  if (count > range.max) transcript.fail(`devices/${kind}`, 'policy_refused', detail)
}
