import { expect, test } from 'bun:test'
import { clientAddress, networkOf } from './client-address.ts'

const peer = '10.0.0.1'

test('without load balancers in front, clients cannot forge an address', () => {
  expect(clientAddress(peer, '203.0.113.7', 0)).toBe(peer)
})

test('as many entries from the right are trusted as there are load balancers', () => {
  const forged = '198.51.100.1, 203.0.113.7, 192.0.2.9'
  expect(clientAddress(peer, forged, 1)).toBe('192.0.2.9')
  expect(clientAddress(peer, forged, 2)).toBe('203.0.113.7')
  expect(clientAddress(peer, '2001:db8::1', 1)).toBe('2001:db8::1')
})

test("with an invalid or missing entry, the connection's address is used", () => {
  for (const told of [null, '', 'unknown', '203.0.113.7:80', '203.0.113.7, ']) {
    expect(clientAddress(peer, told, 1)).toBe(peer)
  }
  expect(clientAddress(peer, '203.0.113.7', 2)).toBe(peer)
})

test('an IPv6 network is one caller, and IPv4-mapped addresses are IPv4', () => {
  expect(networkOf('203.0.113.7')).toBe('203.0.113.7')
  expect(networkOf('::ffff:203.0.113.7')).toBe('203.0.113.7')
  expect(networkOf('2001:db8:1:2::1')).toBe('2001:0db8:0001:0002::/64')
  expect(networkOf('2001:db8:1:2:ffff::9')).toBe(networkOf('2001:db8:1:2::1'))
  expect(networkOf('2001:db8:1:3::1')).not.toBe(networkOf('2001:db8:1:2::1'))
  expect(networkOf('')).toBe('')
})
