import { expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { createLocalAuthority } from './local-authority.ts'

const validity = {
  notBefore: new Date('2026-01-02T03:04:05Z'),
  notAfter: new Date('2051-01-02T03:04:05Z'),
}

test('an issued certificate chains to its authority and names its hosts and addresses', () => {
  const authority = createLocalAuthority('Local authority', validity)
  const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1', '::1', 'fe80::1:2'])
  const [root, leaf] = [new X509Certificate(authority.certPem), new X509Certificate(certPem)]
  expect(root.ca).toBe(true)
  expect(leaf.ca).toBe(false)
  expect(leaf.checkIssued(root)).toBe(true)
  expect(leaf.verify(root.publicKey)).toBe(true)
  expect(leaf.checkHost('localhost')).toBe('localhost')
  expect(leaf.checkHost('other')).toBeUndefined()
  for (const address of ['127.0.0.1', '::1', 'fe80::1:2']) {
    expect(leaf.checkIP(address)).toBe(address)
  }
  expect(keyPem).toStartWith('-----BEGIN PRIVATE KEY-----')
  expect(new Date(leaf.validFrom)).toEqual(validity.notBefore)
  expect(new Date(leaf.validTo)).toEqual(validity.notAfter)
})

test('two certificates never share a serial number or a key', () => {
  const authority = createLocalAuthority('Local authority', validity)
  const [one, other] = [authority.issue(['a']), authority.issue(['a'])]
  expect(new X509Certificate(one.certPem).serialNumber).not.toBe(
    new X509Certificate(other.certPem).serialNumber,
  )
  expect(one.keyPem).not.toBe(other.keyPem)
})
