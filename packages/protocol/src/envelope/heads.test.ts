import { expect, test } from 'bun:test'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { AeadKey, Bytes, CryptoProvider } from './crypto-provider.ts'
import { FrameSealer } from './frames.ts'
import { AnswerOpener } from './open-answer.ts'
import { openRequest } from './open-request.ts'
import { formatContext, formatRecipients, type RecipientSet } from './prelude.ts'
import { recordHeader } from './records.ts'

/** Keys that do not encrypt, so heads can be written by hand. */
const clearKey: AeadKey = {
  seal: (_nonce, _aad, parts) => [...parts, new Uint8Array(16)],
  open: (_nonce, _aad, bytes) => bytes.subarray(0, bytes.length - 16),
}
const clear: CryptoProvider = {
  random: (length) => new Uint8Array(length),
  sha256: () => new Uint8Array(32),
  expand: () => new Uint8Array(32),
  aeadKey: () => clearKey,
}
const sealKeyId = new Uint8Array(16)

function frameWith(head: string): Bytes {
  const bytes = encodeText(head)
  const records = [recordHeader('head', bytes.length), bytes, recordHeader('end', 0)]
  return joinBytes(new FrameSealer(clearKey).seal(records, true) as Bytes[])
}

function openAnswer(head: string) {
  const opener = new AnswerOpener(clear, new Uint8Array(32), new Uint8Array(32), [
    { workerId: 'w', sealKeyId },
  ])
  return opener.push(
    joinBytes([encodeText('PMA1'), sealKeyId, new Uint8Array(32), frameWith(head)]),
  )
}

function openRequestWith(head: string) {
  const requestId = new Uint8Array(16)
  const context = { requestId, issuedAtMs: 1, method: 'POST', path: '/', model: 'm' }
  const recipients = [{ sealKeyId, encapsulation: new Uint8Array(1120) }]
  const set = formatRecipients(clear, recipients) as RecipientSet
  const prelude = [formatContext(context), set.bytes, new Uint8Array(48)]
  const bytes = joinBytes([...prelude, frameWith(head)])
  return openRequest(
    clear,
    () => new Uint8Array(32),
    () => {},
    bytes,
  )
}

test('holdsBytes reports buffered bytes, including those of the prelude', () => {
  const opener = new AnswerOpener(clear, new Uint8Array(32), new Uint8Array(32), [
    { workerId: 'w', sealKeyId },
  ])
  expect(opener.holdsBytes).toBe(false)
  void opener.push(joinBytes([encodeText('PMA1'), sealKeyId]))
  expect(opener.holdsBytes).toBe(true)
  void opener.push(new Uint8Array(32))
  expect(opener.holdsBytes).toBe(false)
  const frame = frameWith('{"status":200,"headers":{}}')
  void opener.push(frame.subarray(0, 9))
  expect(opener.holdsBytes).toBe(true)
  void opener.push(frame.subarray(9))
  expect(opener.holdsBytes).toBe(false)
})

const malformed = expect.objectContaining({ code: 'malformed' })

test('an answer head needs a status and headers of text', () => {
  expect(openAnswer('{"status":200,"headers":{}}')).toHaveLength(2)
  const heads = ['{}', 'no', 'null', '{"status":200}', '{"status":"200","headers":{}}']
  heads.push('{"status":99,"headers":{}}', '{"status":600,"headers":{}}')
  heads.push('{"status":200,"headers":{"a":1}}', '{"status":200,"headers":null}')
  for (const head of heads) expect(() => openAnswer(head)).toThrow(malformed)
})

test('a request head needs headers of text and a known shape', () => {
  expect(openRequestWith('{"headers":{},"shape":"off"}')).toMatchObject({ head: { shape: 'off' } })
  const heads = ['{}', 'no', 'null', '{"headers":{}}', '{"headers":{"a":1},"shape":"off"}']
  heads.push('{"headers":{},"shape":"loud"}', '{"headers":{},"shape":"off","cache_salt":1}')
  for (const head of heads) expect(() => openRequestWith(head)).toThrow(malformed)
})

test('an answer opener repeats its first error, also from finish', () => {
  const opener = new AnswerOpener(clear, new Uint8Array(32), new Uint8Array(32), [])
  const bytes = joinBytes([encodeText('PMA1'), new Uint8Array(48)])
  const unknown = expect.objectContaining({ code: 'unknown_key' })
  expect(() => opener.push(bytes)).toThrow(unknown)
  expect(() => opener.push(new Uint8Array())).toThrow(unknown)
  expect(() => opener.finish()).toThrow(unknown)
})

test('a frame without data is freed once it is read; data stays', async () => {
  const opened: Bytes[] = []
  const copying: AeadKey = {
    ...clearKey,
    open(_nonce, _aad, bytes) {
      const plaintext = new Uint8Array(bytes.subarray(0, bytes.length - 16))
      opened.push(plaintext)
      return plaintext
    },
  }
  const provider = { ...clear, aeadKey: () => copying }
  const key = new Uint8Array(32)
  const opener = new AnswerOpener(provider, key, key, [{ workerId: 'w', sealKeyId }])
  const head = encodeText('{"status": 200, "headers": {}}')
  const data = new Uint8Array(100).fill(7)
  const sealer = new FrameSealer(clearKey)
  const seal = (...parts: Bytes[]) =>
    joinBytes(sealer.seal([...parts, new Uint8Array(2048)], false) as Bytes[])
  const parts = await opener.push(
    joinBytes([
      ...[encodeText('PMA1'), sealKeyId, new Uint8Array(32)],
      ...[seal(recordHeader('head', head.length), head), seal()],
      seal(recordHeader('data', data.length), data),
    ]),
  )
  expect(parts.map(({ kind }) => kind)).toEqual(['head', 'data'])
  expect(opened.map(({ length }) => length)).toEqual([0, 0, 5 + 100 + 2048])
  expect(parts[1]).toMatchObject({ bytes: data })
})
