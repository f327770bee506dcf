/** The page through which QEMU tells the firmware which kernel, initrd and command line to accept. */
import { type Bytes, concatBytes, utf8 } from '../bytes.ts'
import { sha256 } from '../digest.ts'
import { malformed, pageBytes } from './firmware-table.ts'
import { parseGuid } from './guid.ts'

/** SHA-256 of each; the command line includes its final NUL. */
export type KernelHashes = {
  readonly kernel: Bytes
  readonly initrd: Bytes
  readonly commandLine: Bytes
}

const tableGuid = parseGuid('9438d606-4f22-4cc9-b479-a793d411fd21')
const entryGuids = {
  commandLine: parseGuid('97d02dd8-bd20-4c94-aa78-e7714d36ab2a'),
  initrd: parseGuid('44baf731-3a2f-4bd7-9af1-41e29169781d'),
  kernel: parseGuid('4de79437-abd2-427f-b835-d5b172d2045b'),
} as const
const entryBytes = 50
const tableBytes = 18 + 3 * entryBytes

export async function hashKernel(files: {
  readonly kernel: Bytes
  readonly initrd: Bytes
  readonly commandLine: string
}): Promise<KernelHashes> {
  return {
    kernel: await sha256(files.kernel),
    initrd: await sha256(files.initrd),
    commandLine: await sha256(utf8(`${files.commandLine}\0`)),
  }
}

/** `tableAt` is where the firmware looks for the table; the bytes before it in its page are zero. */
export function writeHashPage(hashes: KernelHashes, tableAt: number): Bytes {
  const offset = tableAt % pageBytes
  if (offset + tableBytes > pageBytes) malformed('the hash table does not fit into its page')
  const page = new Uint8Array(pageBytes)
  const entry = (name: keyof KernelHashes) =>
    concatBytes(entryGuids[name], uint16(entryBytes), hashes[name])
  const entries = [entry('commandLine'), entry('initrd'), entry('kernel')]
  page.set(concatBytes(tableGuid, uint16(tableBytes), ...entries), offset)
  return page
}

const uint16 = (value: number) => Uint8Array.of(value & 0xff, value >> 8)
