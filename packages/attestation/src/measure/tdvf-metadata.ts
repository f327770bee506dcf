/** An OVMF image's metadata for a TDX launch (TDX Virtual Firmware Design Guide, section 11). */
import { checkRanges, type Firmware, malformed, metadataOffset } from './firmware-table.ts'
import { formatGuid, guidBytes } from './guid.ts'

const pointerGuid = 'e47a6535-984a-4798-865e-4685a7bf8ec2'
const metadataGuid = 'e9eaf9f3-168e-44d5-a8eb-7f4d8738f6ae'
/** "TDVF", little-endian. */
const signature = 0x46564454
const headerBytes = 16
const sectionBytes = 32
const maxSections = 64

const sectionKinds = ['boot', 'configuration', 'hob', 'memory'] as const
export type TdvfSectionKind = (typeof sectionKinds)[number]

export type TdvfSection = {
  readonly kind: TdvfSectionKind
  /** Where its bytes are in the image; empty if it only reserves memory. */
  readonly dataOffset: number
  readonly dataSize: number
  readonly at: number
  readonly size: number
  /** MR.EXTEND: its contents are measured into MRTD. */
  readonly isExtended: boolean
  /** PAGE.AUG: added on first use, not at launch. */
  readonly isAddedLater: boolean
}

export function readTdvfMetadata(firmware: Firmware): TdvfSection[] {
  const { entries, view, bytes } = firmware
  const pointer = entries.get(pointerGuid) ?? malformed('firmware has no TDX metadata')
  const at = metadataOffset(firmware, pointer, headerBytes)
  if (at < guidBytes || formatGuid(bytes, at - guidBytes) !== metadataGuid) {
    malformed('TDX metadata has no GUID in front of it')
  }
  if (view.getUint32(at, true) !== signature) malformed('TDX metadata has no signature')
  const length = view.getUint32(at + 4, true)
  const count = view.getUint32(at + 12, true)
  if (view.getUint32(at + 8, true) !== 1) malformed('TDX metadata is not of version 1')
  if (count > maxSections || length !== headerBytes + count * sectionBytes) {
    malformed(`TDX metadata of ${length} bytes names ${count} sections`)
  }
  if (at + length > view.byteLength) malformed('TDX metadata is outside of the firmware')
  const sections = Array.from({ length: count }, (_, index) =>
    readSection(view, at + headerBytes + index * sectionBytes),
  )
  checkRanges(sections)
  for (const kind of ['configuration', 'hob'] as const) {
    if (sections.filter((section) => section.kind === kind).length !== 1) {
      malformed(`TDX metadata has no single section of kind ${kind}`)
    }
  }
  return sections
}

function readSection(view: DataView, at: number): TdvfSection {
  const number = view.getUint32(at + 24, true)
  const kind = sectionKinds[number] ?? malformed(`TDX metadata has a section of type ${number}`)
  const attributes = view.getUint32(at + 28, true)
  if (attributes > 3) malformed('a section has attributes that are not known')
  const dataOffset = view.getUint32(at, true)
  const dataSize = view.getUint32(at + 4, true)
  const size = readSafe(view, at + 16)
  const isLoaded = kind === 'boot' || kind === 'configuration'
  if (dataOffset + dataSize > view.byteLength) malformed('a section is outside of the firmware')
  if (isLoaded ? dataSize !== size : dataSize !== 0) {
    malformed(`a section of kind ${kind} has ${dataSize} bytes for ${size} bytes of memory`)
  }
  return {
    kind,
    dataOffset,
    dataSize,
    at: readSafe(view, at + 8),
    size,
    isExtended: (attributes & 1) !== 0,
    isAddedLater: (attributes & 2) !== 0,
  }
}

/** All addresses below 4 GiB, where firmware is mapped, fit; larger ones are refused. */
function readSafe(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true)
  return value > 0xffffffffn ? malformed('a section is beyond 4 GiB') : Number(value)
}
