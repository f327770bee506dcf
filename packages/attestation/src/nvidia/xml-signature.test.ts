import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { utf8 } from '../bytes.ts'
import { world } from '../testing/nvidia-attempts.ts'
import { driverRim } from '../testing/nvidia-world.ts'
import {
  placeSignature,
  relax,
  type SignatureParts,
  signRim,
  writeRim,
  writeSignature,
} from '../testing/rim-writer.ts'
import { testNow } from '../testing/test-authority.ts'
import { Transcript } from '../verdict.ts'
import { type SignedXml, verifySignedXml } from './xml-signature.ts'

const body = writeRim(driverRim)
const signature = await writeSignature(body, world.rimSigner)
const document = placeSignature(relax(body), signature)
const trust = { rootFingerprints: world.roots.nvidiaRim, at: testNow }

const verify = (text: string): Promise<SignedXml> =>
  verifySignedXml(utf8(text), trust, new Transcript(), 'rim')
const refused = async (text: string, code: string): Promise<void> => {
  expect(text).not.toBe(document)
  expect(await rejection(verify(text))).toMatchObject({ code })
}

test('a signed document is returned as it was signed, without its signature', async () => {
  const { root, chain } = await verify(document)
  expect(root.localName).toBe('SoftwareIdentity')
  expect(JSON.stringify(root)).not.toContain('Signature')
  expect(chain).toHaveLength(4)
})

test('differences that canonical XML removes do not matter', async () => {
  const respelled = document
    .replaceAll('\n', '\r\n')
    .replaceAll(' active="True"', "  active='True'")
  await verify(`<?xml version="1.0" encoding="UTF-8"?>\n${respelled}\n`)
})

test('a change of content is refused', () =>
  refused(document.replace('size="48"', 'size="49"'), 'collateral_invalid'))

test('white space in content is signed too', () =>
  refused(document.replace('\n    <ns0:Payload>', '\n   <ns0:Payload>'), 'collateral_invalid'))

test('a change of SignedInfo is refused', async () => {
  const [, digest = ''] = /<ds:DigestValue>(.*?)</.exec(document) ?? []
  const swapped = digest.startsWith('A') ? `B${digest.slice(1)}` : `A${digest.slice(1)}`
  await refused(document.replace(digest, swapped), 'collateral_invalid')
})

test('a signature by another key of the chain is refused', async () => {
  const { key } = world.rimAuthorities[2]!.subject
  const forged = await signRim(body, { ...world.rimSigner, key })
  await refused(new TextDecoder().decode(forged), 'collateral_invalid')
})

test('certificates out of order are refused', async () => {
  const chain = world.rimSigner.chain.toReversed()
  const swapped = await signRim(body, { ...world.rimSigner, chain })
  await refused(new TextDecoder().decode(swapped), 'chain_untrusted')
})

test('a certificate that the chain does not need is refused', async () => {
  const [signer, ...rest] = world.rimSigner.chain
  const chain = [signer!, world.leaf.certificate, ...rest]
  const padded = await signRim(body, { ...world.rimSigner, chain })
  await refused(new TextDecoder().decode(padded), 'chain_mismatch')
})

// Each of these is properly signed but means something other than what we read.
test.each<[string, SignatureParts]>([
  ['a reference to a part', { reference: '#payload' }],
  ['a reference elsewhere', { reference: 'https://example.com/rim' }],
  [
    'another canonicalisation',
    { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
  ],
  ['another signature method', { method: 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha1' }],
  ['a MAC', { method: 'http://www.w3.org/2000/09/xmldsig#hmac-sha1' }],
  ['another digest', { digestMethod: 'http://www.w3.org/2000/09/xmldsig#sha1' }],
  ['no transform', { transforms: [] }],
  ['one transform only', { transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature'] }],
  [
    'a transform that selects',
    {
      transforms: [
        'http://www.w3.org/TR/1999/REC-xpath-19991116',
        'http://www.w3.org/2006/12/xml-c14n11',
      ],
    },
  ],
  ['a transform with parameters', { transformContent: '<ds:XPath>x</ds:XPath>' }],
  ['a second reference', { more: '<ds:Reference URI="#x"></ds:Reference>' }],
])('%s is refused', async (_, parts) => {
  const signed = await signRim(body, world.rimSigner, parts)
  await refused(new TextDecoder().decode(signed), 'collateral_malformed')
})

const wrapper = (inner: string): string =>
  `<SoftwareIdentity xmlns="urn:evil"><Object>${inner}</Object></SoftwareIdentity>`
test.each([
  ['a signed document wrapped into another', wrapper(document.trim())],
  ['a signature that is not at the top', document.replace(signature, `<a>${signature}</a>`)],
  ['two signatures', document.replace(signature, signature + signature)],
  [
    'a nested signature in addition to the right one',
    document.replace('<ns0:Payload>', `<ns0:Payload><x>${signature}</x>`),
  ],
  ['a signature as the root', signature],
  ['no signature', relax(body)],
  [
    'an object inside the signature',
    document.replace('</ds:Signature>', '<ds:Object>x</ds:Object></ds:Signature>'),
  ],
  [
    'a key in addition to the certificates',
    document.replace('<ds:KeyInfo>', '<ds:KeyInfo><ds:KeyName>x</ds:KeyName>'),
  ],
  ['an id on the signature', document.replace('<ds:Signature ', '<ds:Signature Id="s" ')],
  ['an id on what is signed', document.replace('<ds:SignedInfo>', '<ds:SignedInfo Id="s">')],
  ['text between parts of the signature', document.replace('<ds:KeyInfo>', 'x<ds:KeyInfo>')],
  ['a part of another name', document.replaceAll('ds:SignatureValue', 'ds:Value')],
  [
    'a part of another namespace',
    document
      .replace('<ds:SignatureValue>', '<x:SignatureValue xmlns:x="urn:x">')
      .replace('</ds:SignatureValue>', '</x:SignatureValue>'),
  ],
  ['a method without an algorithm', document.replace(/(<ds:DigestMethod) Algorithm="[^"]*"/, '$1')],
  ['an element inside a value', document.replace('<ds:DigestValue>', '$&<x></x>')],
  ['a value that is not base64', document.replace('<ds:SignatureValue>', '$&*')],
  ['no certificate', document.replace(/<ds:X509Certificate>.*<\/ds:X509Certificate>/s, '')],
])('%s is refused', async (name, text) => {
  await refused(text, name === 'no certificate' ? 'chain_mismatch' : 'collateral_malformed')
})

test('nothing is read after a parse error: the refusal is in the transcript', async () => {
  const transcript = new Transcript()
  expect(await rejection(verifySignedXml(utf8('<a'), trust, transcript, 'rim'))).toMatchObject({
    code: 'collateral_malformed',
  })
  expect(transcript.checks).toMatchObject([{ id: 'rim', result: 'failed' }])
})
