/** Keeps prompts and keys out of the files that the system writes when a program crashes. */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const coreLimit = 4 // RLIMIT_CORE, on both Linux and macOS
const libraries: Readonly<Record<string, readonly string[]>> = {
  linux: ['libc.so.6', 'libc.so'],
  darwin: ['libSystem.B.dylib'],
}

/**
 * Sets the core dump limit to zero, for this process and its children; returns whether it
 * succeeded.
 *
 * Handlers that receive dumps through a pipe, such as systemd's, honour this limit themselves.
 */
export function forbidCoreDumps(): boolean {
  for (const library of libraries[process.platform] ?? []) {
    try {
      const { symbols, close } = dlopen(library, {
        setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
      })
      const nothing = new BigUint64Array([0n, 0n]) // soft and hard limit
      const result = symbols.setrlimit(coreLimit, ptr(nothing))
      close()
      return result === 0
    } catch {
      // try the library's other name
    }
  }
  return false
}
