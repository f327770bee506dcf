/** Keeps prompts and keys out of files that the system writes when a program crashes. */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const coreLimit = 4 // RLIMIT_CORE, on Linux and macOS alike
const libraries: Readonly<Record<string, readonly string[]>> = {
  linux: ['libc.so.6', 'libc.so'],
  darwin: ['libSystem.B.dylib'],
}

/**
 * Sets the largest core dump to nothing, for this process and all it starts; tells whether it could.
 *
 * Handlers that get dumps through a pipe, such as systemd's, follow this limit by themselves.
 */
export function forbidCoreDumps(): boolean {
  for (const library of libraries[process.platform] ?? []) {
    try {
      const { symbols, close } = dlopen(library, {
        setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
      })
      const nothing = new BigUint64Array([0n, 0n]) // now and at most
      const result = symbols.setrlimit(coreLimit, ptr(nothing))
      close()
      return result === 0
    } catch {
      // another name of the same library
    }
  }
  return false
}
