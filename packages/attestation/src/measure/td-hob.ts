/**
 * The memory list that QEMU passes to a TDX guest's firmware (PI specification, volume 3: hand-off
 * blocks).
 */
import type { Bytes } from '../bytes.ts'
import { malformed } from './firmware-table.ts'
import type { TdvfSection } from './tdvf-metadata.ts'

const headerBytes = 56
const resourceBytes = 48
const endBytes = 8
const gib = 1024 ** 3
/** QEMU's q35 machine: from this much memory on, the part below 4 GiB ends at 2 GiB. */
const splitFrom = 0xb0000000

type Range = { readonly at: number; readonly size: number }
type Resource = Range & { readonly isAccepted: boolean }

/** The measured bytes: the list without its end. */
export function writeTdHob(sections: readonly TdvfSection[], memoryBytes: number): Bytes {
  const hob = sections.find(({ kind }) => kind === 'hob') ?? malformed('no section for the HOB')
  const added = sections.filter(({ kind }) => kind === 'hob' || kind === 'memory')
  const resources = listResources(added, memoryBytes)
  const bytes = new Uint8Array(headerBytes + resources.length * resourceBytes)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, 1, true) // EFI_HOB_TYPE_HANDOFF
  view.setUint16(2, headerBytes, true)
  view.setUint32(8, 9, true) // EFI_HOB_HANDOFF_TABLE_VERSION
  view.setBigUint64(48, BigInt(hob.at + bytes.length + endBytes), true)
  resources.forEach(({ at, size, isAccepted }, index) => {
    const offset = headerBytes + index * resourceBytes
    view.setUint16(offset, 3, true) // EFI_HOB_TYPE_RESOURCE_DESCRIPTOR
    view.setUint16(offset + 2, resourceBytes, true)
    view.setUint32(offset + 24, isAccepted ? 0 : 7, true) // system memory, or unaccepted
    view.setUint32(offset + 28, 7, true) // present, initialised, tested
    view.setBigUint64(offset + 32, BigInt(at), true)
    view.setBigUint64(offset + 40, BigInt(size), true)
  })
  return bytes
}

/** All memory by address: what was added at launch is accepted, the gaps are not yet. */
function listResources(added: readonly Range[], memoryBytes: number): Resource[] {
  const low = memoryBytes >= splitFrom ? 2 * gib : memoryBytes
  const resources: Resource[] = []
  let at = 0
  for (const range of [...added].sort((a, b) => a.at - b.at)) {
    if (range.at + range.size > low) malformed('a section is beyond the memory of the machine')
    if (range.at > at) resources.push({ at, size: range.at - at, isAccepted: false })
    resources.push({ at: range.at, size: range.size, isAccepted: true })
    at = range.at + range.size
  }
  if (low > at) resources.push({ at, size: low - at, isAccepted: false })
  if (memoryBytes > low) resources.push({ at: 4 * gib, size: memoryBytes - low, isAccepted: false })
  return resources
}
