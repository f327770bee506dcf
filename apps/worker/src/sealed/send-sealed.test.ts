import { afterEach, expect, test } from 'bun:test'
import { type HttpExchange, serveExchanges, serveHttp } from '@privatemode/http'
import { encodeText } from '@privatemode/protocol/envelope'
import { rawClient } from '../../../../packages/http/src/testing/raw-client.ts'
import type { SealedReply } from './answer-sealed.ts'
import type { Sink } from './seal-stream.ts'
import { sendSealed } from './send-sealed.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A client of a listener that answers every request with this reply. */
async function ask(reply: SealedReply, ended: (error?: unknown) => void = () => {}) {
  const answer = async (exchange: HttpExchange) => {
    const sending = sendSealed(exchange, reply)
    sending.then(() => ended(), ended)
    await sending
  }
  const server = serveHttp({
    ...{ hostname: '127.0.0.1', port: 0, tls: undefined },
    limits: { connections: 10, idleSeconds: 10, headSeconds: 10, stallSeconds: 10 },
    ...serveExchanges(answer, () => {}),
  })
  stops.push(() => server.stop(0))
  const client = await rawClient(server.port)
  stops.push(() => client.close())
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  return client
}

const stream = (seal: (sink: Sink) => Promise<void>, cancel = () => {}): SealedReply => ({
  ...{ kind: 'stream', seal, cancel },
})

test('a whole answer has a length and is sent in one write', async () => {
  const client = await ask({ kind: 'whole', pieces: [encodeText('one'), encodeText('two')] })
  const answer = await client.until((text) => text.includes('two'))
  expect(answer).toStartWith('HTTP/1.1 200')
  expect(answer).toContain('content-length: 6\r\n')
  expect(answer).toEndWith('\r\n\r\nonetwo')
})

test('the first bytes are sent in one write with the head, all others as they arrive', async () => {
  const goOn = Promise.withResolvers<void>()
  const seal = async (sink: Sink) => {
    await sink([encodeText('first')])
    await goOn.promise
    await sink([encodeText('second')])
    await sink([encodeText('last')], true)
  }
  const client = await ask(stream(seal))
  const begun = await client.until((text) => text.length > 0)
  expect(begun).toStartWith('HTTP/1.1 200')
  expect(begun).toEndWith('5\r\nfirst\r\n')
  goOn.resolve()
  const rest = await client.until((text) => text.endsWith('0\r\n\r\n'))
  expect(rest).toBe('6\r\nsecond\r\n4\r\nlast\r\n0\r\n\r\n')
})

test('a reader that disconnects cancels the answer, and nothing more is sealed', async () => {
  const cancelled = Promise.withResolvers<void>()
  const failed = Promise.withResolvers<unknown>()
  const seal = async (sink: Sink) => {
    await sink([encodeText('first')])
    await cancelled.promise
    await sink([encodeText('second')])
  }
  const client = await ask(stream(seal, cancelled.resolve), failed.resolve)
  await client.until((text) => text.includes('first'))
  client.close()
  expect(await failed.promise).toMatchObject({ message: 'the client disconnected' })
})

test('sealing waits for a reader that does not read', async () => {
  let sealed = 0
  const seal = async (sink: Sink) => {
    for (; sealed < 400; sealed++) await sink([new Uint8Array(64 * 1024)])
    await sink([encodeText('last')], true)
  }
  const client = await ask(stream(seal))
  client.pause()
  await Bun.sleep(100)
  const before = sealed
  await Bun.sleep(100)
  expect(sealed).toBe(before)
  expect(before).toBeLessThan(400)
  client.resume()
  await client.until((text) => text.endsWith('0\r\n\r\n'))
  expect(sealed).toBe(400)
})

test('an answer that fails is cut off without an end', async () => {
  const seal = async (sink: Sink) => {
    await sink([encodeText('first')])
    throw new Error('no key')
  }
  const failed = Promise.withResolvers<unknown>()
  const client = await ask(stream(seal), failed.resolve)
  expect(await client.rest()).not.toContain('0\r\n\r\n')
  expect(await failed.promise).toMatchObject({ message: 'no key' })
})

test('a failure before the first bytes leaves the connection to whoever answers it', async () => {
  const failed = Promise.withResolvers<unknown>()
  await ask(
    stream(() => Promise.reject(new Error('no key'))),
    failed.resolve,
  )
  expect(await failed.promise).toMatchObject({ message: 'no key' })
})
