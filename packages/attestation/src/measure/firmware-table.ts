/** Reads the GUIDed table at the end of an OVMF image, which locates its SEV and TDX metadata. */
import type { Bytes } from '../bytes.ts'
import { formatGuid, guidBytes } from './guid.ts'
import { MeasureError } from './measure-error.ts'

const footerGuid = '96b582de-1fb2-45f7-baea-a366c55a082d'
/** The last 32 bytes of the image are the reset vector; the table ends before them. */
const resetVectorBytes = 32
/** Every entry ends with its total length and its GUID. */
const entryTailBytes = 2 + guidBytes
const maxFirmwareBytes = 64 * 1024 * 1024
export const pageBytes = 4096

export type Firmware = {
  readonly bytes: Bytes
  readonly view: DataView
  /** The guest physical address of the first byte: an image ends at 4 GiB. */
  readonly base: number
  /** The entries' data by GUID. */
  readonly entries: ReadonlyMap<string, DataView>
}

/** Throws `firmware_malformed` if there is no table, or one with unused bytes or duplicate entries. */
export function parseFirmware(bytes: Bytes): Firmware {
  const size = bytes.length
  if (size === 0 || size % pageBytes !== 0 || size > maxFirmwareBytes) {
    malformed(`firmware has ${size} bytes, expected whole pages up to ${maxFirmwareBytes}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, size)
  const tableEnd = size - resetVectorBytes
  const footer = tableEnd - entryTailBytes
  if (formatGuid(bytes, footer + 2) !== footerGuid) malformed('firmware has no table of GUIDs')
  const start = tableEnd - view.getUint16(footer, true)
  if (start < 0 || start > footer) malformed('the table of GUIDs reaches beyond the firmware')
  const entries = new Map<string, DataView>()
  let end = footer
  while (end > start) {
    const tail = end - entryTailBytes
    if (tail < start) malformed('the table of GUIDs has bytes that belong to no entry')
    const length = view.getUint16(tail, true)
    const entry = end - length
    if (length < entryTailBytes || entry < start) malformed('an entry reaches beyond its table')
    const guid = formatGuid(bytes, tail + 2)
    if (entries.has(guid)) malformed(`the table of GUIDs has ${guid} twice`)
    entries.set(guid, new DataView(bytes.buffer, bytes.byteOffset + entry, tail - entry))
    end = entry
  }
  return { bytes, view, base: 0x1_0000_0000 - size, entries }
}

/** Where the metadata that an entry points to starts; entries give its distance from the end of the image. */
export function metadataOffset(firmware: Firmware, entry: DataView, headerBytes: number): number {
  if (entry.byteLength !== 4) malformed('an entry for metadata is not an offset')
  const offset = firmware.bytes.length - entry.getUint32(0, true)
  if (offset < 0 || offset + headerBytes > firmware.bytes.length) {
    malformed('metadata is outside of the firmware')
  }
  return offset
}

/** Refuses memory ranges that are not whole pages or that overlap. */
export function checkRanges(
  ranges: readonly { readonly at: number; readonly size: number }[],
): void {
  const sorted = ranges.filter(({ size }) => size > 0).sort((a, b) => a.at - b.at)
  let end = 0
  for (const { at, size } of sorted) {
    if (at % pageBytes !== 0 || size % pageBytes !== 0) malformed('a section is not whole pages')
    if (at < end) malformed('two sections of the metadata overlap')
    end = at + size
  }
}

export function malformed(message: string): never {
  throw new MeasureError('firmware_malformed', message)
}
