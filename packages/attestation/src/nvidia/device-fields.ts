/** Reads what an NVIDIA device states about itself in the opaque data of its report. */
import { type Bytes, formatHex, isZero } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import type { SpdmReport } from './spdm-report.ts'

// The types that are read here, of those that NVIDIA's verifier names; others are ignored, since
// the device signed them and a newer driver may add some.
const types = {
  driverVersion: 3,
  vbiosVersion: 6,
  nvdec0Status: 11,
  chipSku: 15,
  project: 17,
  projectSku: 18,
  firmwareId: 20,
  protectedPcieStatus: 21,
  /** For a GPU, the switches at its links; for a switch, its own identity. */
  pdi: 22,
  switchGpuPdis: 26,
  chipInfo: 35,
  featureFlag: 36,
} as const

/** How a GPU is shared: dedicated to one tenant, several for one tenant, or behind protected switches. */
export type GpuMode = 'single-pass-through' | 'multi-pass-through' | 'protected-pcie'

export type GpuFields = {
  readonly device: 'gpu'
  readonly driverVersion: string
  readonly vbiosVersion: string
  readonly project: string
  readonly projectSku: string
  readonly chipSku: string
  /** From Blackwell on, where the certificate names only a family. */
  readonly chipInfo: string | undefined
  /** Undefined if the driver is too old to report it. */
  readonly mode: GpuMode | undefined
  /** The switches at its links, each once, in the byte order that switches use for themselves. */
  readonly switchPdis: readonly string[] | undefined
  /** If the video decoder is off, its measurement is meaningless. */
  readonly nvdec0Disabled: boolean
  readonly firmwareId: Bytes | undefined
}

export type SwitchFields = {
  readonly device: 'switch'
  readonly vbiosVersion: string
  readonly pdi: string | undefined
  /** The GPUs at its ports, each once. */
  readonly gpuPdis: readonly string[] | undefined
  readonly firmwareId: Bytes | undefined
}

export type DeviceFields = GpuFields | SwitchFields

type Opaque = SpdmReport['opaque']

export function readGpuFields(opaque: Opaque): GpuFields {
  return {
    device: 'gpu',
    driverVersion: readText(opaque, 'driverVersion', /^\d{1,4}(\.\d{1,4}){1,3}$/),
    vbiosVersion: readGpuVbiosVersion(opaque),
    project: readText(opaque, 'project', /^[0-9A-Z]{1,16}$/),
    projectSku: readText(opaque, 'projectSku', /^[0-9A-Z]{1,16}$/),
    chipSku: readText(opaque, 'chipSku', /^[0-9A-Z]{1,16}$/),
    chipInfo: opaque.has(types.chipInfo)
      ? readText(opaque, 'chipInfo', /^[0-9A-Z_]{1,16}$/)
      : undefined,
    mode: readMode(opaque),
    switchPdis: readSwitchPdis(opaque),
    nvdec0Disabled: readSwitchedOff(opaque, 'nvdec0Status') === true,
    firmwareId: opaque.get(types.firmwareId),
  }
}

export function readSwitchFields(opaque: Opaque): SwitchFields {
  return {
    device: 'switch',
    vbiosVersion: readText(opaque, 'vbiosVersion', /^[0-9A-F]{2}(\.[0-9A-F]{2}){4}$/),
    pdi: opaque.has(types.pdi) ? formatHex(readBytes(opaque, 'pdi', pdiBytes)) : undefined,
    gpuPdis: readGpuPdis(opaque),
    firmwareId: opaque.get(types.firmwareId),
  }
}

/** Eight bytes, little-endian: 96.00.5E.00 in the lower half, the last part .01 above it. */
function readGpuVbiosVersion(opaque: Opaque): string {
  const bytes = readBytes(opaque, 'vbiosVersion', 8)
  if (!isZero(bytes.subarray(5))) malformed(`VBIOS version ${formatHex(bytes)}`)
  return [3, 2, 1, 0, 4]
    .map((index) => formatHex(bytes.subarray(index, index + 1)).toUpperCase())
    .join('.')
}

function readMode(opaque: Opaque): GpuMode | undefined {
  if (!opaque.has(types.featureFlag)) {
    // Before the flag existed, a status told whether PCIe is protected.
    return readSwitchedOff(opaque, 'protectedPcieStatus') === false ? 'protected-pcie' : undefined
  }
  const [low, high] = readBytes(opaque, 'featureFlag', 2)
  const modes = ['single-pass-through', 'multi-pass-through', 'protected-pcie'] as const
  const mode = high === 0 ? modes[low ?? modes.length] : undefined
  return mode ?? malformed(`feature flag ${low}, ${high}`)
}

const pdiBytes = 8
/** A switch reserves space for this many GPUs; the ports follow. */
const gpuPlaces = 8

/** GPUs write identities in little-endian order, switches in big-endian. A link that is off has zeros. */
function readSwitchPdis(opaque: Opaque): readonly string[] | undefined {
  const bytes = opaque.get(types.pdi)
  if (bytes === undefined) return undefined
  if (bytes.length % pdiBytes !== 0) malformed(`pdi has ${bytes.length} bytes`)
  return distinct(cut(bytes).map((pdi) => pdi.slice().reverse()))
}

function readGpuPdis(opaque: Opaque): readonly string[] | undefined {
  const bytes = opaque.get(types.switchGpuPdis)
  if (bytes === undefined) return undefined
  if (bytes.length < gpuPlaces * pdiBytes) malformed(`switchGpuPdis has ${bytes.length} bytes`)
  return distinct(cut(bytes.subarray(0, gpuPlaces * pdiBytes)))
}

const cut = (bytes: Bytes): Bytes[] =>
  Array.from({ length: bytes.length / pdiBytes }, (_, index) =>
    bytes.subarray(index * pdiBytes, (index + 1) * pdiBytes),
  )

const distinct = (pdis: readonly Bytes[]): readonly string[] => [
  ...new Set(pdis.filter((pdi) => !isZero(pdi)).map((pdi) => formatHex(pdi))),
]

/** A status byte is 0x55 for off and 0xaa for on, and nothing else. */
function readSwitchedOff(opaque: Opaque, name: keyof typeof types): boolean | undefined {
  if (!opaque.has(types[name])) return undefined
  const [status] = readBytes(opaque, name, 1)
  if (status !== 0x55 && status !== 0xaa) malformed(`${name} ${status}, expected 0x55 or 0xaa`)
  return status === 0x55
}

/** ASCII, padded with zeros. */
function readText(opaque: Opaque, name: keyof typeof types, form: RegExp): string {
  const bytes = opaque.get(types[name]) ?? malformed(`no field ${name}`)
  const text = String.fromCharCode(...bytes.subarray(0, 64)).replace(/\0+$/, '')
  return form.test(text) ? text : malformed(`${name} has an unknown form`)
}

function readBytes(opaque: Opaque, name: keyof typeof types, length: number): Bytes {
  const bytes = opaque.get(types[name]) ?? malformed(`no field ${name}`)
  return bytes.length === length ? bytes : malformed(`${name} has ${bytes.length} bytes`)
}

function malformed(detail: string): never {
  throw new AttestationError('evidence_malformed', `device fields: ${detail}`)
}
