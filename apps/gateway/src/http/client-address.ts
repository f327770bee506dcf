/** Determines a request's client address, as far as it can be trusted. */
import { ipBytes, ipVersion } from '@privatemode/service'

/**
 * The address of the caller's machine. Behind load balancers, the connection is theirs; each of the
 * `hops` in front has appended its peer to X-Forwarded-For, so that many entries from the right are
 * trustworthy, while anyone can forge those to the left.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null | undefined,
  hops: number,
): string {
  if (hops === 0) return peer
  const claimed = (forwardedFor ?? '').split(',').at(-hops)?.trim() ?? ''
  return ipVersion(claimed) === 0 ? peer : claimed
}

/** The network for which failed sign-ins are counted: an IPv6 customer has 2^64 addresses. */
export function networkOf(address: string): string {
  if (ipVersion(address) !== 6) return address
  const groups = Buffer.from(ipBytes(address)).toString('hex').match(/.{4}/g) ?? []
  // ::ffff:0:0/96 is IPv4-mapped (RFC 4291, 2.5.5.2).
  const isMapped = groups.slice(0, 5).every((group) => group === '0000') && groups[5] === 'ffff'
  if (isMapped) return [...ipBytes(address).subarray(12)].join('.')
  return `${groups.slice(0, 4).join(':')}::/64`
}
