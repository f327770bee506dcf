/** Makes the newest of several listeners on one port get every new connection, so that an older one can close. */
import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const solSocket = 1
const soAttachReuseportCbpf = 51
const listening = '0A'
const libraries = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

/**
 * Attaches a filter to the port's group of sockets (socket(7), SO_ATTACH_REUSEPORT_CBPF) that always names the
 * second one. Alone in the group, a listener is served as if there were no filter. As soon as a second one listens,
 * all new connections are its, and the first can empty its queue and close: without this, the connections in the
 * queue of a closing listener are reset. Says whether it worked; elsewhere than on Linux it does not.
 */
export function preferNewestListener(port: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    const descriptor = findListeningSocket(port)
    return descriptor !== undefined && attachFilter(descriptor)
  } catch {
    return false // a runtime without the call or /proc: a hand-over is then a little less smooth
  }
}

function attachFilter(descriptor: number): boolean {
  const setsockopt = loadSetsockopt()
  if (setsockopt === undefined) return false
  // struct sock_filter { u16 code; u8 jt, jf; u32 k } with BPF_RET|BPF_K: the result is k, the second socket.
  const filter = new Uint8Array(8)
  new DataView(filter.buffer).setUint16(0, 0x06, true)
  new DataView(filter.buffer).setUint32(4, 1, true)
  // struct sock_fprog { u16 len; struct sock_filter *filter }
  const program = new Uint8Array(16)
  new DataView(program.buffer).setUint16(0, 1, true)
  new DataView(program.buffer).setBigUint64(8, BigInt(ptr(filter)), true)
  return setsockopt(descriptor, solSocket, soAttachReuseportCbpf, ptr(program), 16) === 0
}

function loadSetsockopt() {
  const { i32, u32, ptr: pointer } = FFIType
  const signature = { args: [i32, i32, i32, pointer, u32], returns: i32 } as const
  for (const library of libraries) {
    try {
      return dlopen(library, { setsockopt: signature }).symbols.setsockopt
    } catch {
      // not the C library of this system; the next name may be
    }
  }
  return undefined
}

/** The file descriptor of this process that listens on the port, found by the socket's inode. */
function findListeningSocket(port: number): number | undefined {
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

function linkTarget(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed since it was listed
  }
}
