/**
 * Empties the variable store of an OVMF image: with no keys enrolled, Secure Boot is off and the
 * kernel is loaded and measured.
 */
import type { Bytes } from '../bytes.ts'
import { type Firmware, malformed } from './firmware-table.ts'
import type { TdvfSection } from './tdvf-metadata.ts'

/** The header of the volume, then of the store; variables follow until the end of the store. */
const volumeHeaderBytes = 0x48
const storeHeaderBytes = 28
const storeBytes = 0x3ffb8

export function emptyVariableStore(firmware: Firmware, sections: readonly TdvfSection[]): Bytes {
  const section = sections.find(({ kind }) => kind === 'configuration')
  if (section === undefined || section.dataSize < volumeHeaderBytes + storeBytes) {
    return malformed('firmware has no variable store of the known size')
  }
  const { view } = firmware
  if (view.getUint32(section.dataOffset + volumeHeaderBytes + 16, true) !== storeBytes) {
    malformed('the variable store has another size than the known one')
  }
  const bytes = firmware.bytes.slice()
  const start = section.dataOffset + volumeHeaderBytes
  bytes.fill(0xff, start + storeHeaderBytes, start + storeBytes)
  return bytes
}
