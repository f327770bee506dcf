/** Reads the memory of a running process: every writable page that is resident. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const pageBytes = 4096
const longestRunPages = 4096

/** Whether one of the encodings is in the memory of the process; requires its owner's privileges. */
export function memoryHolds(pid: number, forms: readonly Buffer[]): boolean {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r')
  try {
    for (const region of writableRegions(pid)) {
      for (const [firstPage, pages] of presentRuns(pagemap, region)) {
        const bytes = readAt(memory, firstPage * pageBytes, pages * pageBytes)
        if (forms.some((form) => bytes.includes(form))) return true
      }
    }
    return false
  } finally {
    closeSync(memory)
    closeSync(pagemap)
  }
}

type Region = { readonly firstPage: number; readonly pages: number }

function writableRegions(pid: number): Region[] {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, start, end] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
      if (start === undefined || end === undefined) return []
      const firstPage = Number(BigInt(`0x${start}`)) / pageBytes
      return [{ firstPage, pages: Number(BigInt(`0x${end}`)) / pageBytes - firstPage }]
    })
}

/** Ranges of resident pages; most of what a process reserves never is resident. */
function* presentRuns(pagemap: number, region: Region): Generator<[number, number]> {
  for (let start = 0; start < region.pages; start += 65_536) {
    const count = Math.min(65_536, region.pages - start)
    const entries = readAt(pagemap, (region.firstPage + start) * 8, count * 8)
    let runStart = -1
    for (let page = 0; page <= count; page++) {
      // Bit 63 of an entry: the page is in memory; its byte is the last of the eight.
      const isPresent = page < count && ((entries[page * 8 + 7] ?? 0) & 0x80) !== 0
      const isFull = runStart >= 0 && page - runStart >= longestRunPages
      if (runStart >= 0 && (!isPresent || isFull)) {
        yield [region.firstPage + start + runStart, page - runStart]
        runStart = -1
      }
      if (isPresent && runStart < 0) runStart = page
    }
  }
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, length, position))
  } catch {
    return bytes.subarray(0, 0) // a page that was released in the meantime
  }
}
