/** Changes to IPv4 packets that carry TCP. */
import type { Chance } from '../random.ts'

export function flipBit(packet: Buffer, at: number, chance: Chance): void {
  packet[at] = packet[at]! ^ (1 << chance.between(0, 7))
}

/** Flips a bit of the payload and repairs the checksum; false if there is no payload. */
export function forgePayload(packet: Buffer, chance: Chance): boolean {
  const start = (packet[0]! & 15) * 4
  if (packet[9] !== 6 || packet.length < start + 20) return false
  const payload = start + (packet[start + 12]! >> 4) * 4
  if (payload >= packet.length) return false
  flipBit(packet, chance.between(payload, packet.length - 1), chance)
  packet.writeUInt16BE(0, start + 16)
  packet.writeUInt16BE(tcpChecksum(packet, start), start + 16)
  return true
}

/** RFC 9293, 3.1: over a pseudo header of addresses, protocol and length, and the segment. */
export function tcpChecksum(packet: Buffer, start: number): number {
  const segment = packet.subarray(start)
  let sum = 6 + segment.length
  for (let at = 12; at < 20; at += 2) sum += packet.readUInt16BE(at)
  for (let at = 0; at + 1 < segment.length; at += 2) sum += segment.readUInt16BE(at)
  if (segment.length % 2 === 1) sum += segment[segment.length - 1]! << 8
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
