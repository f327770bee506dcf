import { afterAll, afterEach, expect, spyOn, test } from 'bun:test'
import {
  encodeText,
  endRecord,
  headRecord,
  openRequest,
  type Session,
  sealRequest,
  webCryptoProvider,
} from '@privatemode/protocol/envelope'
import { clientCrypto } from './client-crypto.ts'

const drawn = (length: number) => crypto.getRandomValues(new Uint8Array(length))

test('hashes and derived keys match WebCrypto at every length around a block', async () => {
  for (const length of [0, 1, 31, 32, 55, 56, 63, 64, 65, 128, 2400]) {
    const data = drawn(length)
    const secret = drawn(32)
    expect(await clientCrypto.sha256(data)).toEqual(await webCryptoProvider.sha256(data))
    expect(await clientCrypto.expand(secret, data)).toEqual(
      await webCryptoProvider.expand(secret, data),
    )
  }
})

test('ciphers and randomness are the platform’s own', () => {
  expect(clientCrypto.aeadKey).toBe(webCryptoProvider.aeadKey)
  expect(clientCrypto.random).toBe(webCryptoProvider.random)
})

const used = (['importKey', 'encrypt', 'decrypt', 'digest', 'sign'] as const).map((name) =>
  spyOn(crypto.subtle, name),
)
const takeCounts = () => {
  const counts = used.map((spy) => spy.mock.calls.length)
  for (const spy of used) spy.mockClear()
  return counts
}
afterEach(() => void takeCounts())
afterAll(() => {
  for (const spy of used) spy.mockRestore()
})

// Each call waits for another thread and for the call before it: this is the cost of a later
// request in a page.
test('a later request makes six WebCrypto calls: four to seal it, two to open its answer', async () => {
  const session: Session = {
    workerId: 'w_1',
    sealKeyId: drawn(16),
    encapsulation: drawn(1120),
    secret: drawn(32),
  }
  const context = { requestId: drawn(16), issuedAtMs: 1, method: 'POST', path: '/v1/x', model: 'm' }
  const head = { headers: {}, shape: 'off' } as const
  takeCounts()
  const sealed = await sealRequest(clientCrypto, [session], context, head, encodeText('a prompt'))
  expect(takeCounts()).toEqual([2, 2, 0, 0, 0])
  const secretOf = () => session.secret
  const opened = await openRequest(webCryptoProvider, secretOf, () => {}, sealed.bytes)
  const answer = await opened.sealAnswer()
  const records = [...headRecord({ status: 200, headers: {} }), ...endRecord(encodeText('{}'))]
  const frame = await answer.seal(records, true)
  takeCounts()
  await sealed.opener.push(new Uint8Array([...answer.prelude, ...frame]))
  sealed.opener.finish()
  expect(takeCounts()).toEqual([1, 0, 1, 0, 0])
})
