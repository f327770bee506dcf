/** IP addresses as text and as numbers; the runtime's own module takes ten milliseconds to load. */

/** 4 or 6 for a literal address (RFC 3986, 3.2.2, without brackets), 0 for anything else. */
export function ipVersion(text: string): 0 | 4 | 6 {
  if (/^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text)) return 4
  return text.includes(':') && /^[0-9a-fA-F:.]+$/.test(text) && URL.canParse(`http://[${text}]`)
    ? 6
    : 0
}

/** Whether an address is in a network such as `10.0.0.0/8`; a malformed network contains no address. */
export function isInNetwork(network: string, address: string): boolean {
  const [base = '', prefix = ''] = network.split('/')
  const version = ipVersion(base)
  const width = version === 4 ? 32 : 128
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : width + 1
  if (version === 0 || ipVersion(address) !== version || bits > width) return false
  const shift = BigInt(width - bits)
  return toNumber(base) >> shift === toNumber(address) >> shift
}

/** The 4 or 16 bytes of an address, in network order. */
export function ipBytes(address: string): Uint8Array {
  const hex = toNumber(address).toString(16)
  return Buffer.from(hex.padStart(ipVersion(address) === 4 ? 8 : 32, '0'), 'hex')
}

function toNumber(address: string): bigint {
  if (ipVersion(address) === 4) {
    return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
  }
  // The URL parser formats every form, even with an IPv4 tail, as hex groups.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].reduce(
    (sum, part) => (sum << 16n) | BigInt(`0x${part}`),
    0n,
  )
}
