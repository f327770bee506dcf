/** Where a request comes from, as far as that can be believed. */
import { ipBytes, ipVersion } from '@privatemode/service'

/**
 * The address of the caller's machine. Behind load balancers the connection is theirs; each of the
 * `hops` in front has added whom it heard to X-Forwarded-For, so that many entries from the right are
 * true, and what stands left of them anyone can write.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null | undefined,
  hops: number,
): string {
  if (hops === 0) return peer
  const told = (forwardedFor ?? '').split(',').at(-hops)?.trim() ?? ''
  return ipVersion(told) === 0 ? peer : told
}

/** Whom an address stands for when guesses are counted: a customer with IPv6 has 2^64 of them. */
export function networkOf(address: string): string {
  if (ipVersion(address) !== 6) return address
  const groups = Buffer.from(ipBytes(address)).toString('hex').match(/.{4}/g) ?? []
  // ::ffff:0:0/96 is IPv4 in the clothes of IPv6 (RFC 4291, 2.5.5.2).
  const isMapped = groups.slice(0, 5).every((group) => group === '0000') && groups[5] === 'ffff'
  if (isMapped) return [...ipBytes(address).subarray(12)].join('.')
  return `${groups.slice(0, 4).join(':')}::/64`
}
