/** MRTD: one SHA-384 over every page that a TDX guest is launched with (TDX module ABI, TDH.MEM.PAGE.ADD and TDH.MR.EXTEND). */
import { type Bytes, utf8 } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import { type Firmware, pageBytes } from './firmware-table.ts'
import type { TdvfSection } from './tdvf-metadata.ts'

const recordBytes = 128
const chunkBytes = 256
const addName = utf8('MEM.PAGE.ADD')
const extendName = utf8('MR.EXTEND')

/**
 * QEMU 10.1 and later add and extend page by page; a patched QEMU 8.2 adds a whole section, then
 * extends it.
 */
export type AddOrder = 'by-page' | 'by-section'

export async function measureTd(
  { bytes }: Firmware,
  sections: readonly TdvfSection[],
  order: AddOrder = 'by-page',
): Promise<Bytes> {
  const stream = new RecordStream(sections)
  for (const section of sections) {
    if (section.isAddedLater) continue
    const data = bytes.subarray(section.dataOffset, section.dataOffset + section.dataSize)
    const extend = (page: number) => {
      if (section.isExtended) stream.extendPage(section.at + page, data.subarray(page))
    }
    for (let page = 0; page < section.size; page += pageBytes) {
      stream.addPage(section.at + page)
      if (order === 'by-page') extend(page)
    }
    for (let page = 0; page < section.size && order === 'by-section'; page += pageBytes)
      extend(page)
  }
  return sha384(stream.written())
}

/** WebCrypto can only hash whole byte strings, so the stream is written out first: 7 MB for a 4 MB image. */
class RecordStream {
  readonly #bytes: Bytes
  #length = 0

  constructor(sections: readonly TdvfSection[]) {
    const perPage = ({ isExtended }: TdvfSection) =>
      recordBytes + (isExtended ? (pageBytes / chunkBytes) * (recordBytes + chunkBytes) : 0)
    const total = sections.reduce((sum, one) => sum + (one.size / pageBytes) * perPage(one), 0)
    this.#bytes = new Uint8Array(total)
  }

  addPage(at: number): void {
    this.#record(addName, at)
  }

  /** Memory without data in the image is zero. */
  extendPage(at: number, page: Bytes): void {
    for (let offset = 0; offset < pageBytes; offset += chunkBytes) {
      this.#record(extendName, at + offset)
      this.#bytes.set(page.subarray(offset, offset + chunkBytes), this.#length)
      this.#length += chunkBytes
    }
  }

  written(): Bytes {
    return this.#bytes.subarray(0, this.#length)
  }

  #record(name: Bytes, at: number): void {
    this.#bytes.set(name, this.#length)
    const view = new DataView(this.#bytes.buffer, this.#length, recordBytes)
    view.setBigUint64(16, BigInt(at), true)
    this.#length += recordBytes
  }
}
