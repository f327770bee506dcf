/** Stores the signed receipts of answers, one per line, so that bills can be audited. No content. */
import { chmodSync, closeSync, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { ServiceError } from '@privatemode/service'

export type ReceiptFile = {
  /** Adds the receipt of one answer: JSON as sealed by the worker. */
  add(receipt: Uint8Array): void
  /** Writes what is still buffered. */
  flush(): void
  stop(): void
}

export type ReceiptFileLimits = {
  /** A file is rotated at this size. */
  readonly bytes: number
  /** The number of rotated files kept: `path.1` is the newest. */
  readonly kept: number
}

export const defaultReceiptLimits: ReceiptFileLimits = { bytes: 64 * 1024 * 1024, kept: 8 }
const flushMs = 250
/** Above this, a disk that accepts no writes costs receipts, not memory. */
const heldChars = 1024 * 1024
const longestReceipt = 16 * 1024
const utf8 = new TextDecoder()

/** Opens the file with owner-only permissions; throws if it is not writable. */
export function openReceiptFile(
  path: string,
  onError: (error: unknown) => void,
  limits: ReceiptFileLimits = defaultReceiptLimits,
): ReceiptFile {
  let held = ''
  let descriptor = open()
  const timer = setInterval(flush, flushMs).unref()

  function open(): number {
    try {
      const opened = openSync(path, 'a', 0o600)
      chmodSync(path, 0o600) // it may have existed before
      return opened
    } catch (cause) {
      const message = `cannot write receipts to ${path}; choose another file with --receipts`
      throw new ServiceError('file_unwritable', message, { cause })
    }
  }

  function reopen(): void {
    const next = open()
    closeSync(descriptor)
    descriptor = next
  }

  function rotate(): void {
    // Another process of this proxy may have rotated the file.
    const isOurs = statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino
    if (!isOurs) reopen()
    if (fstatSync(descriptor).size < limits.bytes) return
    for (let age = limits.kept; age > 0; age--) {
      const newer = age === 1 ? path : `${path}.${age - 1}`
      const isThere = statSync(newer, { throwIfNoEntry: false }) !== undefined
      if (isThere) renameSync(newer, `${path}.${age}`)
    }
    reopen()
  }

  function flush(): void {
    if (held === '') return
    const lines = held
    held = ''
    try {
      rotate()
      writeSync(descriptor, lines)
    } catch (error) {
      onError(error)
    }
  }

  return {
    add(receipt) {
      if (receipt.length > longestReceipt || held.length > heldChars) return
      const line = oneLine(receipt)
      if (line !== undefined) held += `${line}\n`
    },
    flush,
    stop() {
      clearInterval(timer)
      flush()
    },
  }
}

/** Only the members of a receipt, dropping anything else a worker may have added. */
function oneLine(receipt: Uint8Array): string | undefined {
  try {
    const { record, rest, signature } = JSON.parse(utf8.decode(receipt))
    const isReceipt = [record, rest, signature].every((text) => typeof text === 'string')
    return isReceipt ? JSON.stringify({ record, rest, signature }) : undefined
  } catch {
    return undefined
  }
}
