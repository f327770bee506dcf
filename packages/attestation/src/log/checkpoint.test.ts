import { expect, test } from 'bun:test'
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { rejection } from '../../../../test/rejection.ts'
import { formatBase64, utf8 } from '../bytes.ts'
import { newSigner } from '../testing/memory-log.ts'
import { cosignCheckpoint, dateCheckpoint, openCheckpoint, signCheckpoint } from './checkpoint.ts'
import { requireFreshLog } from './freshness.ts'
import { createNoteSigner, parseNoteSigner } from './note-signer.ts'
import {
  formatSignedNote,
  formatVerifierKey,
  noteKeyId,
  parseSignedNote,
  parseVerifierKey,
  verifiedSignature,
  verifyEd25519,
} from './signed-note.ts'

const noWitnesses = { witnesses: [], quorum: 0 }
const head = (origin: string) => ({ origin, size: 7, root: new Uint8Array(32).fill(5) })
const at = new Date('2026-03-01T12:00:00Z')

// The example of c2sp.org/signed-note.
const specKey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const specNote = `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`

test('the example note of the specification verifies', async () => {
  const key = await parseVerifierKey(specKey)
  const note = parseSignedNote(utf8(specNote))
  const verify = ({ signature }: { signature: Uint8Array<ArrayBuffer> }) =>
    verifyEd25519(key.publicKey, signature, utf8(note.text))
  expect(await verifiedSignature(note, key, verify)).toBeDefined()
  expect(formatVerifierKey(key)).toBe(specKey)
  expect(formatSignedNote(note)).toEqual(utf8(specNote))
  const changed = { ...note, text: note.text.replace('example', 'exbmple') }
  const verifyChanged = ({ signature }: { signature: Uint8Array<ArrayBuffer> }) =>
    verifyEd25519(key.publicKey, signature, utf8(changed.text))
  expect(await rejection(verifiedSignature(changed, key, verifyChanged))).toMatchObject({
    code: 'log_signature_invalid',
  })
})

test('a verifier key with a wrong id or an unknown type is refused', async () => {
  for (const text of [
    specKey.replace('530d903a', '530d903b'),
    specKey.replace('+Aeky', '+Beky'),
    specKey.slice(0, -4),
    'example.com/foo',
    '',
  ]) {
    expect(await rejection(parseVerifierKey(text))).toMatchObject({ code: 'log_malformed' })
  }
})

test('a signing key with a wrong id or an unknown form is refused', async () => {
  const { text } = await createNoteSigner('log.example')
  expect((await parseNoteSigner(`${text}\n`)).key.name).toBe('log.example')
  const [id = ''] = /[0-9a-f]{8}/.exec(text) ?? []
  for (const changed of [text.replace(id, '00000000'), text.slice(0, -4), 'PRIVATE+KEY', '']) {
    expect(await rejection(parseNoteSigner(changed))).toMatchObject({ code: 'log_malformed' })
  }
})

test('a checkpoint opens with the key of its log and with no other', async () => {
  const log = await newSigner('log.example')
  const note = await signCheckpoint(head('log.example'), log, at)
  const opened = await openCheckpoint(note, log.key, noWitnesses)
  expect(opened).toMatchObject({ origin: 'log.example', size: 7, witnesses: [] })
  const other = await newSigner('log.example')
  const refusal = { code: 'log_signature_invalid' }
  expect(await rejection(openCheckpoint(note, other.key, noWitnesses))).toMatchObject(refusal)
})

test('a checkpoint for another origin is refused, although the right key signed it', async () => {
  const log = await newSigner('log.example')
  const note = await signCheckpoint(head('other.example'), log, at)
  const opened = openCheckpoint(note, log.key, noWitnesses)
  expect(await rejection(opened)).toMatchObject({ code: 'log_signature_invalid' })
})

test('a flip of any bit of a checkpoint is refused', async () => {
  const log = await newSigner('log.example')
  const note = await signCheckpoint(head('log.example'), log, at)
  let refused = 0
  for (let bit = 0; bit < note.length * 8; bit++) {
    const flipped = note.slice()
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    // A damaged date line may look like an unknown signer's; then there is no date.
    const opened = openCheckpoint(flipped, log.key, noWitnesses)
    await opened
      .then(({ asOf }) => requireFreshLog(asOf, at, 72))
      .then(
        () => expect.unreachable(`bit ${bit} was not noticed`),
        (error) => expect(error.name).toBe('AttestationError'),
      )
    refused += 1
  }
  expect(refused).toBe(note.length * 8)
})

test('a cosignature is computed as the specification describes', async () => {
  const { text, verifierKey } = await createNoteSigner('witness.example', 'cosignature/v1')
  const witness = await parseNoteSigner(text)
  const log = await newSigner('log.example')
  const note = await signCheckpoint(head('log.example'), log, at)
  const cosigned = await cosignCheckpoint(note, witness, at)
  const { signatures, text: body } = parseSignedNote(cosigned)
  const seed = Buffer.from(text.split('+').slice(4).join('+'), 'base64').subarray(1)
  const privateKey = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const message = `cosignature/v1\ntime ${at.getTime() / 1000}\n${body}`
  const timestamp = Buffer.alloc(8)
  timestamp.writeBigUInt64BE(BigInt(at.getTime() / 1000))
  const expected = Buffer.concat([timestamp, sign(null, Buffer.from(message), privateKey)])
  expect(Buffer.from(signatures.at(-1)!.signature).equals(expected)).toBe(true)
  const raw = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32)
  const id = await noteKeyId('witness.example', 'cosignature/v1', raw)
  expect(verifierKey).toBe(
    `witness.example+${Buffer.from(id).toString('hex')}+${formatBase64(Buffer.concat([Buffer.from([4]), raw]))}`,
  )
})

test('the number of witnesses that the rule demands must have cosigned', async () => {
  const log = await newSigner('log.example')
  const [one, two, three] = await Promise.all(
    ['w1', 'w2', 'w3'].map((name) => newSigner(name, 'cosignature/v1')),
  )
  const witnesses = [one!.key, two!.key, three!.key]
  const signed = await signCheckpoint(head('log.example'), log, at)
  const cosigned = await cosignCheckpoint(await cosignCheckpoint(signed, one!, at), three!, at)
  const open = (quorum: number, note = cosigned) =>
    openCheckpoint(note, log.key, { witnesses, quorum })
  expect((await open(2)).witnesses).toEqual(['w1', 'w3'])
  const missing = { code: 'log_witnesses_missing' }
  expect(await rejection(open(3))).toMatchObject(missing)
  expect(await rejection(open(1, signed))).toMatchObject(missing)
})

test('a checkpoint is as old as the oldest signature required of the log and its witnesses', async () => {
  const log = await newSigner('log.example')
  const [one, two] = await Promise.all(
    ['w1', 'w2'].map((name) => newSigner(name, 'cosignature/v1')),
  )
  const witnesses = [one!.key, two!.key]
  const hours = (count: number) => new Date(at.getTime() + count * 3_600_000)
  const asOf = async (note: Uint8Array, quorum: number) =>
    (await openCheckpoint(note, log.key, { witnesses, quorum })).asOf
  const signed = await signCheckpoint(head('log.example'), log, hours(5))
  const cosigned = await cosignCheckpoint(await cosignCheckpoint(signed, one!, at), two!, hours(3))
  expect(await asOf(signed, 0)).toEqual(hours(5))
  expect(await asOf(cosigned, 0)).toEqual(hours(5))
  expect(await asOf(cosigned, 1)).toEqual(hours(3))
  expect(await asOf(cosigned, 2)).toEqual(at)
  // When signed again, each line replaces the previous one.
  const anew = await cosignCheckpoint(cosigned, one!, hours(9))
  expect(await asOf(anew, 2)).toEqual(hours(3))
  expect(await asOf(await dateCheckpoint(anew, log, hours(1)), 2)).toEqual(hours(1))
  expect(parseSignedNote(anew).signatures).toHaveLength(4)
})

test('a checkpoint without a date line has no time, and a forged date line is refused', async () => {
  const log = await newSigner('log.example')
  const { text, signatures } = parseSignedNote(await signCheckpoint(head('log.example'), log, at))
  const [own, dated] = signatures
  const undated = formatSignedNote({ text, signatures: [own!] })
  expect((await openCheckpoint(undated, log.key, noWitnesses)).asOf).toBeUndefined()
  const later = dated!.signature.slice()
  later[7]! ^= 1
  const redated = formatSignedNote({ text, signatures: [own!, { ...dated!, signature: later }] })
  const opened = openCheckpoint(redated, log.key, noWitnesses)
  expect(await rejection(opened)).toMatchObject({ code: 'log_signature_invalid' })
  const never = await dateCheckpoint(undated, log, new Date(8.64e15))
  expect(await rejection(openCheckpoint(never, log.key, noWitnesses))).toMatchObject({
    code: 'log_malformed',
  })
})

test('a witness does not count twice, neither by repeating its line nor under two names', async () => {
  const log = await newSigner('log.example')
  const witness = await newSigner('w1', 'cosignature/v1')
  const signed = await signCheckpoint(head('log.example'), log, at)
  const twice = await cosignCheckpoint(await cosignCheckpoint(signed, witness, at), witness, at)
  const { publicKey } = witness.key
  const id = await noteKeyId('w2', 'cosignature/v1', publicKey)
  const alias = { ...witness, key: { ...witness.key, name: 'w2', id } }
  const aliased = await cosignCheckpoint(twice, alias, at)
  const rule = { witnesses: [witness.key, alias.key], quorum: 2 }
  const opened = openCheckpoint(aliased, log.key, rule)
  expect(await rejection(opened)).toMatchObject({ code: 'log_witnesses_missing' })
})

test('an invalid cosignature of a known witness makes the checkpoint invalid', async () => {
  const log = await newSigner('log.example')
  const witness = await newSigner('w1', 'cosignature/v1')
  const other = await signCheckpoint({ ...head('log.example'), size: 8 }, log, at)
  const line = parseSignedNote(await cosignCheckpoint(other, witness, at)).signatures.at(-1)!
  const note = parseSignedNote(await signCheckpoint(head('log.example'), log, at))
  const forged = formatSignedNote({ ...note, signatures: [...note.signatures, line] })
  const opened = openCheckpoint(forged, log.key, { witnesses: [witness.key], quorum: 0 })
  expect(await rejection(opened)).toMatchObject({ code: 'log_signature_invalid' })
})

test('the log cannot cosign for a witness, nor a witness sign for the log', async () => {
  const log = await newSigner('log.example')
  const witness = await newSigner('log.example', 'cosignature/v1')
  const text = new TextDecoder().decode(await signCheckpoint(head('log.example'), log, at))
  const { signatures, ...note } = parseSignedNote(utf8(text))
  const only = await cosignCheckpoint(formatSignedNote({ ...note, signatures }), witness, at)
  const line = parseSignedNote(only).signatures.at(-1)!
  const unsigned = formatSignedNote({ ...note, signatures: [line] })
  const opened = openCheckpoint(unsigned, log.key, noWitnesses)
  expect(await rejection(opened)).toMatchObject({ code: 'log_signature_invalid' })
  const asLogKey = openCheckpoint(only, witness.key, noWitnesses)
  expect(await rejection(asLogKey)).toMatchObject({ code: 'log_signature_invalid' })
})

test('anything that is not a note or not a checkpoint is refused', async () => {
  const log = await newSigner('log.example')
  const sign = async (text: string) => {
    const key = await crypto.subtle.sign('Ed25519', log.privateKey, utf8(text))
    const { name, id } = log.key
    return formatSignedNote({ text, signatures: [{ name, id, signature: new Uint8Array(key) }] })
  }
  const root = formatBase64(new Uint8Array(32))
  for (const text of [
    'log.example\n',
    `log.example\n07\n${root}\n`,
    `log.example\n-1\n${root}\n`,
    `log.example\n99999999999999999\n${root}\n`,
    `log.example\n7\nAAAA\n`,
    `log.example\n7\n${root}\n\nextension\n`,
  ]) {
    const opened = openCheckpoint(await sign(text), log.key, noWitnesses)
    expect(await rejection(opened)).toMatchObject({ code: 'log_malformed' })
  }
  for (const bytes of [
    utf8(''),
    utf8('no signature\n'),
    utf8('a\n\n- b AAAAAAA=\n'),
    utf8('a\n\n— b AAAAAAA='),
    utf8('a\u0001\n\n— b AAAAAAA=\n'),
    Uint8Array.of(0xff),
    utf8(`${'a'.repeat(65_536)}\n\n— b AAAAAAA=\n`),
  ]) {
    expect(() => parseSignedNote(bytes)).toThrow(expect.objectContaining({ code: 'log_malformed' }))
  }
})
