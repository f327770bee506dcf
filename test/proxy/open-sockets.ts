/** The TCP connections of a process, from the kernel's tables (proc(5)). */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export type OpenSocket = { readonly localPort: number; readonly remote: string }

export function openSockets(pid: number): OpenSocket[] {
  const inodes = new Set<string>()
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(target(`/proc/${pid}/fd/${name}`))?.[1]
    if (inode !== undefined) inodes.add(inode)
  }
  const found: OpenSocket[] = []
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1)) {
      const [, local = '', remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/)
      if (state === '0A' || !inodes.has(inode)) continue
      found.push({
        localPort: Number.parseInt(local.split(':')[1] ?? '', 16),
        remote: address(remote),
      })
    }
  }
  return found
}

function address(hex: string): string {
  const [host = '', port = ''] = hex.split(':')
  const bytes = host.match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? []
  const text = bytes.length === 4 ? bytes.reverse().join('.') : host
  return `${text}:${Number.parseInt(port, 16)}`
}

function target(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed since it was listed
  }
}
