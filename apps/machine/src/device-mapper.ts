/**
 * Opens a verity volume with the kernel's device mapper, without a helper program or reading from
 * the disk.
 */
import { closeSync, openSync } from 'node:fs'
import type { Volume } from './machine-config.ts'
import { ioctl } from './syscalls.ts'
import { veritySalt } from './verity-salt.ts'

/** What happens on a block that does not match the root hash: a read error, or a kernel panic. */
export type OnCorruption = 'error' | 'panic'

const headerBytes = 312
const targetBytes = 40
const sectorsPerBlock = 8n
const commands = { create: 3n, remove: 4n, resume: 6n, load: 9n } as const
const readOnlyFlag = 1

/** Linux, include/uapi/linux/dm-ioctl.h: `_IOWR(0xfd, n, struct dm_ioctl)`. */
const request = (command: bigint) => 0xc138_fd00n + command

/**
 * Returns the path of the device. The kernel keeps `label` and the root hash as its name and
 * identifier.
 */
export function openVerity(volume: Volume, device: string, onCorruption: OnCorruption): string {
  const control = openSync('/dev/mapper/control', 'r+')
  try {
    const call = (command: keyof typeof commands, message: Uint8Array) => {
      ioctl(
        control,
        request(commands[command]),
        message,
        `device mapper: ${command} ${volume.label}`,
      )
      return message
    }
    const created = call(
      'create',
      formatMessage(volume, { identifier: verityIdentifier(volume.root) }),
    )
    call('load', formatMessage(volume, { table: formatTable(volume, device, onCorruption) }))
    call('resume', formatMessage(volume))
    return `/dev/dm-${minorOf(created)}`
  } finally {
    closeSync(control)
  }
}

/** `/sys/block/dm-N/dm/uuid` of a volume, which shows the root hash that the kernel enforces. */
export const verityIdentifier = (root: string): string => `PRIVATEMODE-VERITY-${root}`

export function formatTable(volume: Volume, device: string, onCorruption: OnCorruption): string {
  const salt = Buffer.from(veritySalt(volume.label)).toString('hex')
  const { blocks, root } = volume
  const options = onCorruption === 'panic' ? ' 1 panic_on_corruption' : ''
  return `1 ${device} ${device} 4096 4096 ${blocks} ${blocks} sha256 ${root} ${salt}${options}`
}

/** struct dm_ioctl, and with a table one struct dm_target_spec and its parameters. */
export function formatMessage(
  volume: Volume,
  { identifier = '', table }: { readonly identifier?: string; readonly table?: string } = {},
): Uint8Array {
  const parameters = table === undefined ? Buffer.alloc(0) : Buffer.from(`${table}\0`)
  const tableBytes = table === undefined ? 0 : targetBytes + Math.ceil(parameters.length / 8) * 8
  const message = Buffer.alloc(headerBytes + tableBytes)
  message.writeUInt32LE(4, 0) // version 4.0.0 of the interface
  message.writeUInt32LE(message.length, 12)
  message.writeUInt32LE(headerBytes, 16)
  message.writeUInt32LE(table === undefined ? 0 : 1, 20)
  message.writeUInt32LE(readOnlyFlag, 28)
  message.write(volume.label, 48, 'latin1')
  // Set once, when the device is created; later the kernel finds it by its name alone.
  message.write(identifier, 176, 'latin1')
  if (table !== undefined) {
    message.writeBigUInt64LE(0n, headerBytes)
    message.writeBigUInt64LE(BigInt(volume.blocks) * sectorsPerBlock, headerBytes + 8)
    message.write('verity', headerBytes + 24, 'latin1')
    parameters.copy(message, headerBytes + targetBytes)
  }
  return message
}

/** `dev`, in the kernel's encoding of large device numbers. */
function minorOf(message: Uint8Array): number {
  const device = Buffer.from(message.buffer, message.byteOffset).readBigUInt64LE(40)
  return Number((device & 0xffn) | ((device >> 12n) & 0xfff00n))
}
