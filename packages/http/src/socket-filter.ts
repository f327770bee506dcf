/** Attaches a small BPF program to a listening socket (socket(7)); Linux only. */
import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** One classic BPF instruction: code, the two jumps, and its constant. */
export type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number]

const solSocket = 1
const listening = '0A'
const libraries = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

export function attachProgram(
  descriptor: number,
  option: number,
  instructions: readonly Instruction[],
): boolean {
  const setsockopt = loadSetsockopt()
  if (setsockopt === undefined) return false
  // struct sock_filter { u16 code; u8 jt, jf; u32 k }
  const filter = new Uint8Array(8 * instructions.length)
  const filterView = new DataView(filter.buffer)
  for (const [index, [code, jumpTrue, jumpFalse, k]] of instructions.entries()) {
    filterView.setUint16(8 * index, code, true)
    filterView.setUint8(8 * index + 2, jumpTrue)
    filterView.setUint8(8 * index + 3, jumpFalse)
    filterView.setUint32(8 * index + 4, k, true)
  }
  // struct sock_fprog { u16 len; struct sock_filter *filter }
  const program = new Uint8Array(16)
  new DataView(program.buffer).setUint16(0, instructions.length, true)
  new DataView(program.buffer).setBigUint64(8, BigInt(ptr(filter)), true)
  return setsockopt(descriptor, solSocket, option, ptr(program), 16) === 0
}

/** The file descriptor of this process listening on the port, found by the socket's inode. */
export function findListeningSocket(port: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const inodes = new Set<string>()
  const portHex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const columns = line.trim().split(/\s+/)
      if (columns[1]?.endsWith(portHex) && columns[3] === listening) inodes.add(columns[9] ?? '')
    }
  }
  for (const name of readdirSync('/proc/self/fd')) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkTarget(`/proc/self/fd/${name}`))?.[1]
    if (inode !== undefined && inodes.has(inode)) return Number(name)
  }
  return undefined
}

function loadSetsockopt() {
  const { i32, u32, ptr: pointer } = FFIType
  const signature = { args: [i32, i32, i32, pointer, u32], returns: i32 } as const
  for (const library of libraries) {
    try {
      return dlopen(library, { setsockopt: signature }).symbols.setsockopt
    } catch {
      // not this system's C library; try the next name
    }
  }
  return undefined
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed since it was listed
  }
}
