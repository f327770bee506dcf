/** System calls missing from the runtime. In one file: outside it, their arguments would have no types. */
import { dlopen, FFIType, type Pointer, ptr, read } from 'bun:ffi'
import { MachineError } from './machine-error.ts'

const { i32, u64, ptr: pointer, i64 } = FFIType

const libc = () =>
  dlopen('libc.so.6', {
    mount: { args: [pointer, pointer, pointer, u64, pointer], returns: i32 },
    chroot: { args: [pointer], returns: i32 },
    ioctl: { args: [i32, u64, pointer], returns: i32 },
    socket: { args: [i32, i32, i32], returns: i32 },
    syscall: { args: [i64, i64, pointer, i64], returns: i64 },
    __errno_location: { args: [], returns: pointer },
  }).symbols

let opened: ReturnType<typeof libc> | undefined
// Loaded on first use: the builder imports this package on systems without this library.
const calls = () => {
  opened ??= libc()
  return opened
}

export const mountFlags = {
  readOnly: 1n,
  noSuid: 2n,
  noDev: 4n,
  noExec: 8n,
  bind: 4096n,
  move: 8192n,
  recursive: 16384n,
} as const

const text = (value: string) => ptr(Buffer.from(`${value}\0`))

export type Mount = {
  readonly source: string
  readonly target: string
  readonly type: string
  readonly flags?: bigint
  readonly data?: string
}

export function mount({ source, target, type, flags = 0n, data = '' }: Mount): void {
  const result = calls().mount(text(source), text(target), text(type), flags, text(data))
  check(result, `mount ${type} on ${target}`)
}

export function chroot(path: string): void {
  check(calls().chroot(text(path)), `chroot ${path}`)
}

const finitModule = 313 // x86-64

export function loadModule(descriptor: number, name: string): void {
  check(Number(calls().syscall(finitModule, descriptor, text(''), 0)), `load module ${name}`)
}

/** The structure is modified in place. */
export function ioctl(
  descriptor: number,
  request: bigint,
  structure: Uint8Array,
  what: string,
): void {
  check(calls().ioctl(descriptor, request, ptr(structure)), what)
}

const waitUntilSent = 0x5409n // TCSBRK

/** Waits until a serial line has sent what was written to it. */
export function drain(descriptor: number): void {
  check(calls().ioctl(descriptor, waitUntilSent, 1 as Pointer), 'drain the serial line')
}

/** For requests about network interfaces; no datagrams are sent through it. */
export function openNetworkSocket(): number {
  const descriptor = calls().socket(2, 2, 0) // AF_INET, SOCK_DGRAM
  check(descriptor, 'open a socket')
  return descriptor
}

function check(result: number, what: string): void {
  if (result >= 0) return
  const location = calls().__errno_location()
  const errno = location === null ? 0 : read.i32(location, 0)
  throw new MachineError('syscall_failed', `${what}: errno ${errno}`)
}
