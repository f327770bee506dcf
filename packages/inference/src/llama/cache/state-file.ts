/** An unnamed in-memory file, the only way in which llama.cpp exports a sequence's state. */
import { closeSync, constants, ftruncateSync, openSync, statfsSync } from 'node:fs'

const tmpfsMagic = 0x01021994
const ramfsMagic = 0x858458f6
const nameless = 0o20200000 // O_TMPFILE of Linux, which node:fs does not export

/** Whether states can leave the context without ever touching a disk. */
export function isMemoryFolder(folder: string): boolean {
  if (process.platform !== 'linux') return false
  try {
    const { type } = statfsSync(folder)
    if (type !== tmpfsMagic && type !== ramfsMagic) return false
    openStateFile(folder).close()
    return true
  } catch {
    return false
  }
}

export type StateFile = { readonly path: string; readonly descriptor: number; close(): void }

/** No other process can find the file, and it disappears when closed, even after a crash. */
export function openStateFile(folder: string): StateFile {
  const descriptor = openSync(folder, constants.O_RDWR | nameless, 0o600)
  return {
    path: `/proc/self/fd/${descriptor}`,
    descriptor,
    close: () => {
      ftruncateSync(descriptor, 0)
      closeSync(descriptor)
    },
  }
}
