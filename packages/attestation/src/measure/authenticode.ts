/** The digest of a PE program without its signature (Windows Authenticode Portable Executable Signature Format). */
import { type Bytes, concatBytes } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import { MeasureError } from './measure-error.ts'

const coffBytes = 20
const sectionBytes = 40
const checksumOffset = 64
const maxSections = 96

export async function authenticodeSha384(file: Bytes): Promise<Bytes> {
  return sha384(hashedPart(file))
}

function hashedPart(file: Bytes): Bytes {
  const view = new DataView(file.buffer, file.byteOffset, file.length)
  const u16 = (at: number) => (at + 2 <= file.length ? view.getUint16(at, true) : malformed())
  const u32 = (at: number) => (at + 4 <= file.length ? view.getUint32(at, true) : malformed())
  const pe = u32(0x3c)
  if (u16(0) !== 0x5a4d || u32(pe) !== 0x4550) malformed('not a PE program')
  const optional = pe + 4 + coffBytes
  if (u16(optional) !== 0x20b) malformed('not a PE32+ program')
  const directories = u32(optional + 108)
  if (directories < 5) malformed('a PE program without a security directory entry')
  const checksum = optional + checksumOffset
  const certificateEntry = optional + 112 + 4 * 8
  const headersEnd = u32(optional + 60)
  const count = u16(pe + 6)
  const table = optional + u16(pe + 20)
  if (
    count > maxSections ||
    table + count * sectionBytes > headersEnd ||
    headersEnd > file.length
  ) {
    malformed('the headers do not contain the section table')
  }
  const sections = Array.from({ length: count }, (_, index) => {
    const at = table + index * sectionBytes
    return { size: u32(at + 16), offset: u32(at + 20) }
  })
    .filter(({ size }) => size > 0)
    .sort((a, b) => a.offset - b.offset)
  const parts = [
    file.subarray(0, checksum),
    file.subarray(checksum + 4, certificateEntry),
    file.subarray(certificateEntry + 8, headersEnd),
  ]
  let end = headersEnd
  for (const { size, offset } of sections) {
    // The format hashes section by section: a gap would contain bytes that are not covered.
    if (offset !== end || offset + size > file.length) malformed('sections overlap or leave gaps')
    parts.push(file.subarray(offset, offset + size))
    end = offset + size
  }
  const certificateAt = u32(certificateEntry)
  const certificateSize = u32(certificateEntry + 4)
  if (
    certificateSize > 0 &&
    (certificateAt < end || certificateAt + certificateSize !== file.length)
  ) {
    malformed('the signature is not at the end')
  }
  const trailing = file.subarray(end, certificateSize > 0 ? certificateAt : file.length)
  if (trailing.length % 8 !== 0) malformed('data after the sections is not a multiple of 8 bytes')
  return concatBytes(...parts, trailing)
}

function malformed(message = 'a truncated PE program'): never {
  throw new MeasureError('kernel_malformed', message)
}
