/** Compares the measurements and model digests listed in a manifest with those of a built machine. */
import type { Manifest, Rule, TdxMeasurements } from '@privatemode/attestation'
import type { SnpHost, TdxHost } from '@privatemode/attestation/measure'
import { decodeHex } from '../files/decode-text.ts'
import type { LaunchFiles, MachineIndex } from './machine-folder.ts'
import { measureSnp, measureTdx, type TdxShape } from './measurements.ts'

export type Comparison = {
  /** What the manifest lists, in readable form. */
  readonly value: string
  /**
   * `same`: the machine has this value. `debug`: the machine has it when launched for debugging.
   * `unexplained`: it does not have it on any of the hosts.
   */
  readonly verdict: 'same' | 'debug' | 'unexplained'
  /** The host with that value. */
  readonly host?: string
}

export type Hosts = { readonly snp: readonly SnpHost[]; readonly tdx: readonly TdxHost[] }

type Known = { readonly host: string; readonly isDebug: boolean }

/** Workers only: a hosted proxy is a different machine. */
export async function compareWithMachine(
  manifest: Manifest,
  index: MachineIndex,
  files: LaunchFiles,
  hosts: Hosts,
): Promise<Comparison[]> {
  const known = new Map<string, Known>()
  // Production last: a value of both launches counts as one of production.
  for (const isDebug of [true, false]) {
    const boot = isDebug ? { ...files, commandLine: index.debugCommandLine } : files
    const shapes = hosts.snp.map((host) => ({
      ...host,
      hypervisor: 'qemu' as const,
      sevFeatures: 1n,
    }))
    for (const { measurement, cpu, vcpus } of await measureSnp(files.snpFirmware, boot, shapes)) {
      known.set(measurement, { host: `${cpu}, ${vcpus} vCPUs`, isDebug })
    }
    for (const host of hosts.tdx) {
      const measured = await measureTdx(files.tdxFirmware, boot, shapeOf(host))
      const { mr_td, rtmr0 = '', rtmr1, rtmr2 } = measured
      const key = tdxKey({ mrTd: mr_td, rtmr0, rtmr1, rtmr2 })
      known.set(key, { host: `TDX, ${host.memoryMib} MiB`, isDebug })
    }
  }
  return [
    ...listedMeasurements(manifest).map((value) => compare(value, known)),
    ...manifest.models.map(({ id, digest }): Comparison => {
      const isSame = digest === `sha256:${index.weights[id]}`
      const value = `digest of model ${id}: ${digest}`
      return isSame
        ? { value, verdict: 'same', host: 'its verity volume' }
        : { value, verdict: 'unexplained' }
    }),
  ]
}

function compare(listed: Listed, known: ReadonlyMap<string, Known>): Comparison {
  const found = known.get(listed.key)
  const { value } = listed
  if (found === undefined) return { value, verdict: 'unexplained' }
  return { value, verdict: found.isDebug ? 'debug' : 'same', host: found.host }
}

type Listed = { readonly key: string; readonly value: string }

function listedMeasurements({ roles }: Manifest): Listed[] {
  return roles.worker.accept.flatMap(listedByRule)
}

function listedByRule(rule: Rule): Listed[] {
  switch (rule.kind) {
    case 'snp':
      return rule.rule.measurements.map((key) => ({ key, value: `SNP measurement ${key}` }))
    case 'tdx':
      return rule.rule.measurements.map((one) => ({
        key: tdxKey(one),
        value: `TDX measurements with RTMR2 ${one.rtmr2}`,
      }))
    case 'software':
    case 'unread': // `parseManifest` reads every rule
      return []
  }
}

const tdxKey = ({ mrTd, rtmr0, rtmr1, rtmr2 }: TdxMeasurements): string =>
  [mrTd, rtmr0, rtmr1, rtmr2].join(' ')

function shapeOf(host: TdxHost): TdxShape {
  return {
    memoryBytes: host.memoryMib * 1024 * 1024,
    acpi: {
      loader: bytesOf(host.acpiLoader),
      rsdp: bytesOf(host.acpiRsdp),
      tables: bytesOf(host.acpiTables),
    },
    smbios: bytesOf(host.smbios),
  }
}

const bytesOf = (hex: string) => decodeHex(hex) ?? new Uint8Array(0)
