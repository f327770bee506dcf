/** Which machine was verified: the identities signed by the hardware, and whether a rule lists them. */
import type { AuthenticEvidence } from './authenticate-worker.ts'
import type { Rule } from './manifest/rule.ts'

/** One identity of a machine or of a device in it, as signed by the hardware. */
export type MachineIdentity = {
  readonly kind: 'chip' | 'platform' | 'gpu' | 'switch'
  readonly id: string
  /** False if the manifest accepts every genuine device. */
  readonly listed: boolean
}

/** `rule` is the one that accepted the evidence: the identities it lists have been compared. */
export function readMachine(evidence: AuthenticEvidence, rule: Rule): readonly MachineIdentity[] {
  return [...readCpu(evidence, rule), ...readDevices(evidence, rule)]
}

function readCpu({ cpu }: AuthenticEvidence, rule: Rule): MachineIdentity[] {
  switch (cpu.kind) {
    case 'snp': {
      const { chipId } = cpu.claims
      const listed = rule.kind === 'snp' && rule.rule.chipIds !== undefined
      return chipId === undefined ? [] : [{ kind: 'chip', id: chipId, listed }]
    }
    case 'tdx': {
      const ids = rule.kind === 'tdx' ? rule.rule.platformIds : undefined
      return cpu.claims.platformIds.map((id) => ({
        kind: 'platform',
        id,
        listed: ids?.includes(id) === true,
      }))
    }
    case 'software':
      return []
  }
}

function readDevices({ devices }: AuthenticEvidence, rule: Rule): MachineIdentity[] {
  const wanted = 'devices' in rule ? rule.devices.nvidiaGpu : undefined
  const serials = wanted === 'unread' ? undefined : wanted?.rule
  return devices.map(({ claims: { device, deviceId } }) => ({
    kind: device,
    id: deviceId,
    listed: (device === 'gpu' ? serials?.gpuSerials : serials?.switchSerials) !== undefined,
  }))
}
