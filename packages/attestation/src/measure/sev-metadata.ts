/**
 * An OVMF image's metadata for an SEV-SNP launch: its sections, the location of the kernel hashes,
 * and where further CPUs start.
 */
import { checkRanges, type Firmware, malformed, metadataOffset } from './firmware-table.ts'

const guids = {
  resetBlock: '00f771de-1a7e-4fcb-890e-68c77e2fb44e',
  hashTable: '7255371f-3a3b-4b04-927b-1da6efa8d454',
  metadata: 'dc886566-984a-4798-a75e-5585a7bf67cc',
} as const

const headerBytes = 16
const sectionBytes = 12
const maxSections = 64
/** "ASEV", little-endian. */
const signature = 0x56455341

export const sectionKinds = {
  1: 'memory',
  2: 'secrets',
  3: 'cpuid',
  4: 'svsm-caa',
  16: 'kernel-hashes',
} as const
export type SectionKind = (typeof sectionKinds)[keyof typeof sectionKinds]

export type SevSection = {
  readonly at: number
  readonly size: number
  readonly kind: SectionKind
}

export type SevMetadata = {
  readonly sections: readonly SevSection[]
  /** The guest physical address of the kernel hashes; undefined for firmware that accepts no kernel. */
  readonly hashTableAt: number | undefined
  /** Where CPUs after the first start. */
  readonly resetEip: number
}

export function readSevMetadata(firmware: Firmware): SevMetadata {
  const { entries, view } = firmware
  const pointer = entries.get(guids.metadata) ?? malformed('firmware has no SEV metadata')
  const reset = entries.get(guids.resetBlock)
  if (reset === undefined || reset.byteLength < 4) malformed('firmware has no SEV-ES reset block')
  const table = entries.get(guids.hashTable)
  if (table !== undefined && table.byteLength < 8) malformed('the entry of the hash table is short')
  const at = metadataOffset(firmware, pointer, headerBytes)
  if (view.getUint32(at, true) !== signature) malformed('SEV metadata has no signature')
  const length = view.getUint32(at + 4, true)
  const count = view.getUint32(at + 12, true)
  if (view.getUint32(at + 8, true) !== 1) malformed('SEV metadata is not of version 1')
  if (count > maxSections || length !== headerBytes + count * sectionBytes) {
    malformed(`SEV metadata of ${length} bytes names ${count} sections`)
  }
  if (at + length > view.byteLength) malformed('SEV metadata is outside of the firmware')
  const sections = Array.from({ length: count }, (_, index) =>
    readSection(view, at + headerBytes + index * sectionBytes),
  )
  checkRanges(sections)
  return { sections, hashTableAt: table?.getUint32(0, true), resetEip: reset.getUint32(0, true) }
}

function readSection(view: DataView, at: number): SevSection {
  const number = view.getUint32(at + 8, true)
  const kind = Object.hasOwn(sectionKinds, number)
    ? sectionKinds[number as keyof typeof sectionKinds]
    : malformed(`SEV metadata has a section of unknown type ${number}`)
  return { at: view.getUint32(at, true), size: view.getUint32(at + 4, true), kind }
}
