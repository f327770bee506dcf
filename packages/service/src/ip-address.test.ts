import { expect, test } from 'bun:test'
import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { ipBytes, ipVersion, isInNetwork } from './ip-address.ts'

const ipv4 = fc.ipV4()
// The URL parser accepts only the usual forms of addresses with an IPv4 tail; rare ones are refused.
const ipv6 = fc.ipV6().filter((text) => !text.includes('.'))

test('addresses are distinguished from names as the runtime does', () => {
  for (const text of [
    '1.2.3.4',
    '::1',
    '::',
    'fe80::1',
    '::ffff:1.2.3.4',
    '1.2.3',
    '1.2.3.4.',
    '01.2.3.4',
    '256.1.1.1',
    'localhost',
    '',
    '1:2',
    ':::',
    '[::1]',
    '1.2.3.4:80',
    'a::b::c',
    '::1%eth0',
  ]) {
    // A zone is part of a local name, not of an address in a header.
    expect([text, ipVersion(text)]).toEqual([
      text,
      text.includes('%') ? 0 : (isIP(text) as 0 | 4 | 6),
    ])
  }
  fc.assert(fc.property(ipv4, (text) => ipVersion(text) === 4))
  fc.assert(fc.property(ipv6, (text) => ipVersion(text) === 6))
})

test('networks contain the same addresses as in the runtime', () => {
  const check = (family: 'ipv4' | 'ipv6', base: string, bits: number, address: string) => {
    const list = new BlockList()
    list.addSubnet(base, bits, family)
    expect(isInNetwork(`${base}/${bits}`, address)).toBe(list.check(address, family))
  }
  fc.assert(fc.property(ipv4, fc.integer({ min: 0, max: 32 }), ipv4, (...a) => check('ipv4', ...a)))
  fc.assert(
    fc.property(ipv6, fc.integer({ min: 0, max: 128 }), ipv6, (...a) => check('ipv6', ...a)),
  )
})

test('a malformed network contains no address', () => {
  for (const network of [
    '10.0.0.0/33',
    '10.0.0.0/',
    'x/8',
    '10.0.0.0/-1',
    '::/129',
    '10.0.0.0/8',
  ]) {
    expect(isInNetwork(network, '::1')).toBe(false)
  }
})

test('the bytes of an address are in network order', () => {
  expect([...ipBytes('1.2.3.4')]).toEqual([1, 2, 3, 4])
  expect(Buffer.from(ipBytes('fe80::1:2')).toString('hex')).toBe('fe800000000000000000000000010002')
})
