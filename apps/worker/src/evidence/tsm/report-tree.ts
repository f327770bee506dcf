/** The kernel's tree of attestation reports (configfs-tsm, Linux 6.7): one directory per request. */
import { constants } from 'node:fs'
import { mkdir, open, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../../worker-error.ts'

export type ReportAttribute =
  | 'generation'
  | 'provider'
  | 'privlevel'
  | 'privlevel_floor'
  | 'inblob'
  | 'outblob'
  | 'auxblob'

/** The kernel operations we use; tests substitute a tree of their own. */
export interface ReportTree {
  readonly path: string
  create(entry: string): Promise<void>
  write(entry: string, attribute: ReportAttribute, bytes: Uint8Array): Promise<void>
  read(entry: string, attribute: ReportAttribute, limitBytes: number): Promise<Bytes>
  remove(entry: string): Promise<void>
}

export const defaultReportPath = '/sys/kernel/config/tsm/report'

export function configfsTree(path: string): ReportTree {
  return {
    path,
    create: async (entry) => {
      await mkdir(join(path, entry))
    },
    async write(entry, attribute, bytes) {
      // Without O_CREAT: only the kernel creates attributes. It consumes a binary attribute when the file
      // is closed, in one piece.
      const file = await open(join(path, entry, attribute), constants.O_WRONLY)
      try {
        const { bytesWritten } = await file.write(bytes)
        if (bytesWritten === bytes.length) return
        throw new WorkerError(
          'report_unavailable',
          `${attribute} accepted ${bytesWritten} of ${bytes.length} bytes`,
        )
      } finally {
        await file.close()
      }
    },
    async read(entry, attribute, limitBytes) {
      const file = await open(join(path, entry, attribute), constants.O_RDONLY)
      try {
        return await readUpTo(file, limitBytes, attribute)
      } finally {
        await file.close()
      }
    },
    remove: (entry) => rmdir(join(path, entry)),
  }
}

/** The kernel states no size beforehand: read until end of file. */
async function readUpTo(
  file: Awaited<ReturnType<typeof open>>,
  limitBytes: number,
  attribute: ReportAttribute,
): Promise<Bytes> {
  const buffer = new Uint8Array(limitBytes + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, null)
    if (bytesRead === 0) return buffer.slice(0, length)
    length += bytesRead
  }
  throw new WorkerError('report_unavailable', `${attribute} has over ${limitBytes} bytes`)
}
