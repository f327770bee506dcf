/** Reads the headers of a macOS file (mach-o/loader.h) and checks whether its signature matches its pages. */
import { createHash } from 'node:crypto'

const headerLength = 32
const buildVersion = 0x32 // LC_BUILD_VERSION
const codeSignature = 0x1d // LC_CODE_SIGNATURE
const codeDirectory = 0xfade0c02
const sha256 = 2

/** The position of a load command. */
function findCommand(file: Buffer, wanted: number): number {
  let at = headerLength
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    if (file.readUInt32LE(at) === wanted) return at
    at += file.readUInt32LE(at + 4)
  }
  throw new Error(`no load command ${wanted}`)
}

/** The oldest macOS that the file is for, such as `13.0`. */
export function minimumMacOs(file: Buffer): string {
  const version = file.readUInt32LE(findCommand(file, buildVersion) + 12)
  return `${version >> 16}.${(version >> 8) & 0xff}`
}

/** How many pages are signed, and how many do not match their signature: macOS kills a program at the first. */
export function checkPages(file: Buffer): { readonly pages: number; readonly wrong: number } {
  const command = findCommand(file, codeSignature)
  const start = file.readUInt32LE(command + 8)
  const blobs = file.subarray(start, start + file.readUInt32LE(command + 12))
  const directory = blobs.subarray(blobs.readUInt32BE(16))
  if (directory.readUInt32BE(0) !== codeDirectory) throw new Error('no code directory')
  const [hashes, count, limit] = [16, 28, 32].map((at) => directory.readUInt32BE(at)) as [
    ...[number, number, number],
  ]
  const [length = 0, kind, , shift = 0] = directory.subarray(36, 40)
  if (kind !== sha256) throw new Error(`hashes of kind ${kind}`)
  let wrong = 0
  for (let page = 0; page < count; page++) {
    const bytes = file.subarray(page << shift, Math.min((page + 1) << shift, limit))
    const digest = createHash('sha256').update(bytes).digest().subarray(0, length)
    const signed = directory.subarray(hashes + page * length, hashes + (page + 1) * length)
    if (!digest.equals(signed)) wrong++
  }
  return { pages: count, wrong: limit === start ? wrong : count }
}
