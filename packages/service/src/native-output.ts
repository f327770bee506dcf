/**
 * Keeps the output of native code out of every log.
 *
 * llama.cpp writes some errors to standard error with `fprintf`, bypassing its log callback: a
 * grammar that it refuses is printed in full, with the names and values of the caller's schema. So
 * descriptors 1 and 2 are redirected to an in-memory file, of which only newlines are counted
 * before it is truncated, and our own lines go to a duplicate of the original descriptor 2. A pipe
 * would not do: native code prints on the thread that would have to read it, and would deadlock
 * once the pipe is full.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'
import { closeSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { ServiceError } from './service-error.ts'

export type NativeOutput = {
  /** The original standard error, used only for our own lines. */
  readonly ownError: number
  /** Lines that native code has printed so far; discards their text. */
  countLines(): number
}

const libraries: Readonly<Record<string, readonly string[]>> = {
  linux: ['libc.so.6', 'libc.so'],
  darwin: ['libSystem.B.dylib'],
}
const newline = 0x0a
const closeOnExec = 1 // MFD_CLOEXEC of memfd_create(2)

/** Takes over descriptors 1 and 2 of this process for good. Throws if it cannot. */
export function takeOverOutput(): NativeOutput {
  const libc = openLibrary()
  const ownError = libc.dup(2)
  const memory = process.platform === 'linux' ? openMemory(libc) : undefined
  // Append mode: every write goes to the current end, also after the file was truncated.
  const printed = openSync(memory === undefined ? '/dev/null' : `/proc/self/fd/${memory}`, 'a')
  for (const descriptor of [1, 2]) {
    if (ownError < 0 || libc.dup2(printed, descriptor) !== descriptor) throw cannot()
  }
  closeSync(printed)
  let lines = 0
  const buffer = Buffer.alloc(64 * 1024)
  return {
    ownError,
    countLines() {
      if (memory === undefined) return 0
      let from = 0
      for (;;) {
        const length = readSync(memory, buffer, 0, buffer.length, from)
        if (length === 0) break
        for (let at = 0; at < length; at++) if (buffer[at] === newline) lines++
        from += length
      }
      if (from > 0) ftruncateSync(memory, 0)
      buffer.fill(0)
      return lines
    },
  }
}

type Library = {
  dup(descriptor: number): number
  dup2(from: number, to: number): number
  memfd_create?(name: ReturnType<typeof ptr>, flags: number): number
}

const oneNumber = { args: [FFIType.i32], returns: FFIType.i32 } as const
const twoNumbers = { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } as const
const pointerAndNumber = { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 } as const

function openLibrary(): Library {
  const names = { dup: oneNumber, dup2: twoNumbers }
  for (const path of libraries[process.platform] ?? []) {
    try {
      if (process.platform !== 'linux') return dlopen(path, names).symbols
      return dlopen(path, { ...names, memfd_create: pointerAndNumber }).symbols
    } catch {
      // try the library's other name
    }
  }
  throw cannot()
}

function openMemory({ memfd_create: create }: Library): number {
  const descriptor = create?.(ptr(Buffer.from('native output\0')), closeOnExec) ?? -1
  if (descriptor < 0) throw cannot()
  return descriptor
}

const cannot = () =>
  new ServiceError(
    'output_unusable',
    'cannot keep the output of llama.cpp out of the log on this system; use --engineUrl',
  )
