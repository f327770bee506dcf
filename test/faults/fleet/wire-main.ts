/**
 * The process behind the wire: `bun wire-main.ts DEVICE NETWORK SEED`, with commands on standard input.
 *
 * A TUN device has the address NETWORK.1. Traffic to NETWORK.2 arrives here as packets; source and
 * destination are swapped and the packet is returned to the kernel, which treats it as one from
 * NETWORK.2 to itself. Swapping the two leaves every checksum valid. So two programs on one machine
 * speak TCP over a network in which this program can manipulate real packets.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'
import { openSync, read, write } from 'node:fs'
import { createChance } from '../random.ts'
import { flipBit, forgePayload } from './packet.ts'
import type { PacketFaults } from './wire.ts'

const [device = '', network = '', seed = '1'] = process.argv.slice(2)
const chance = createChance(Number(seed))
const tunSetInterface = 0x4004_54ca
const tunWithoutInfo = 0x1001
const maxPacketBytes = 65_536
let faults: PacketFaults = {}
const counts = { packets: 0, drop: 0, duplicate: 0, reorder: 0, corrupt: 0, forge: 0 }

const file = openSync('/dev/net/tun', 'r+')
const { symbols: libc } = dlopen('libc.so.6', {
  ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
})
const request = Buffer.alloc(40)
request.write(device)
request.writeUInt16LE(tunWithoutInfo, 16)
if (libc.ioctl(file, tunSetInterface, ptr(request)) !== 0) throw new Error('no TUN device')
ip('addr', 'add', `${network}.1/24`, 'dev', device)
ip('link', 'set', device, 'up')
process.stdout.write('ready\n')
for (let reader = 0; reader < 2; reader++) readNext(Buffer.alloc(maxPacketBytes))

for await (const line of console) {
  const order = JSON.parse(line) as { faults?: PacketFaults; count?: boolean }
  if (order.faults !== undefined) faults = order.faults
  if (order.count === true) process.stdout.write(`${JSON.stringify(counts)}\n`)
}
process.exit(0)

function readNext(buffer: Buffer): void {
  read(file, buffer, 0, buffer.length, null, (error, length) => {
    if (error !== null) process.exit(1)
    carry(Buffer.from(buffer.subarray(0, length)))
    readNext(buffer)
  })
}

function carry(packet: Buffer): void {
  if (packet.length < 20 || packet[0]! >> 4 !== 4) return // only IPv4 has addresses here
  counts.packets++
  const source = Buffer.from(packet.subarray(12, 16))
  packet.copy(packet, 12, 16, 20)
  source.copy(packet, 16)
  if (happens('drop')) return
  if (happens('corrupt')) flipBit(packet, chance.between(20, packet.length - 1), chance)
  if (faults.forge !== undefined && chance.next() < faults.forge && forgePayload(packet, chance)) {
    counts.forge++
  }
  const { delayMs = 0, jitterMs = 0 } = faults
  const late = happens('reorder') ? 30 : 0
  const afterMs = delayMs + late + (jitterMs === 0 ? 0 : chance.between(0, jitterMs))
  send(packet, afterMs)
  if (happens('duplicate')) send(packet, afterMs + chance.between(0, 5))
}

function happens(what: 'drop' | 'duplicate' | 'reorder' | 'corrupt'): boolean {
  const does = chance.next() < (faults[what] ?? 0)
  if (does) counts[what]++
  return does
}

function send(packet: Buffer, afterMs: number): void {
  const now = () => write(file, packet, 0, packet.length, null, () => {})
  if (afterMs === 0) now()
  else setTimeout(now, afterMs)
}

function ip(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['ip', ...args])
  if (exitCode !== 0) throw new Error(stderr.toString())
}
