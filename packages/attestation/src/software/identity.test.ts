import { expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { rejection } from '../../../../test/rejection.ts'
import { utf8 } from '../bytes.ts'
import { noon } from '../testing/software-world.ts'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  parseSoftwareIdentity,
  softwareRootFingerprint,
} from './producer.ts'

test('another implementation parses and verifies the certificates we write', async () => {
  const root = await createSoftwareRoot({ name: 'a root', at: noon, days: 365 })
  const leaf = await issueSoftwareLeaf(root, { name: 'a leaf', at: noon, days: 1 })
  const [leafDer, rootDer] = leaf.certificates
  const [nodeLeaf, nodeRoot] = [new X509Certificate(leafDer!), new X509Certificate(rootDer!)]
  expect(nodeLeaf.verify(nodeRoot.publicKey)).toBe(true)
  expect(nodeRoot.verify(nodeRoot.publicKey)).toBe(true)
  expect(nodeLeaf.issuer).toBe('CN=a root')
  expect([nodeRoot.ca, nodeLeaf.ca]).toEqual([true, false])
  expect(new Date(nodeLeaf.validTo)).toEqual(new Date('2026-03-02T12:00:00Z'))
  expect(nodeRoot.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(
    await softwareRootFingerprint(leaf),
  )
})

test('validity past 2049 is written in the long form', async () => {
  const root = await createSoftwareRoot({
    name: 'old',
    at: new Date('2055-01-01T00:00:00Z'),
    days: 1,
  })
  expect(new Date(new X509Certificate(root.certificates[0]!).validTo).getUTCFullYear()).toBe(2055)
})

test('an identity is stored and read back with its key', async () => {
  const root = await createSoftwareRoot({ name: 'a root', at: noon, days: 365 })
  const stored = await parseSoftwareIdentity(await formatSoftwareIdentity(root))
  const leaf = await issueSoftwareLeaf(stored, { name: 'a leaf', at: noon, days: 1 })
  const [nodeLeaf, nodeRoot] = leaf.certificates.map((der) => new X509Certificate(der))
  expect(nodeLeaf!.verify(nodeRoot!.publicKey)).toBe(true)
})

test('a stored identity with an unknown field or a broken key is refused', async () => {
  const root = await createSoftwareRoot({ name: 'a root', at: noon, days: 365 })
  const stored = JSON.parse(new TextDecoder().decode(await formatSoftwareIdentity(root)))
  for (const changed of [
    { ...stored, extra: 1 },
    { ...stored, private_key: 'AAAA' },
    { ...stored, version: 2 },
    { ...stored, certificates: [] },
  ]) {
    const parsed = parseSoftwareIdentity(utf8(JSON.stringify(changed)))
    expect(await rejection(parsed)).toMatchObject({ code: 'certificate_malformed' })
  }
})
