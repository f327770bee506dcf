import { expect, test } from 'bun:test'
import { encodeText } from '@privatemode/protocol/envelope'
import { thrown } from '../../../../test/rejection.ts'
import type { Sink } from './seal-stream.ts'
import { sealedBody } from './sealed-body.ts'

const unwanted = () => {
  throw new Error('unexpected cancel')
}

test('the first bytes are sent in one write with the head, all others as they arrive', async () => {
  const goOn = Promise.withResolvers<void>()
  const seal = async (sink: Sink) => {
    await sink(encodeText('first'))
    await goOn.promise
    await sink(encodeText('second'))
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async () =>
      new Response(await sealedBody(seal, new AbortController().signal, unwanted), {
        headers: { 'content-type': 'text/plain' },
      }),
  })
  const came: string[] = []
  const ended = Promise.withResolvers<void>()
  const client = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port!,
    socket: {
      data(_, bytes) {
        came.push(bytes.toString())
        goOn.resolve()
        if (came.join('').endsWith('0\r\n\r\n')) ended.resolve()
      },
    },
  })
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await ended.promise
  client.end()
  await server.stop(true)
  expect(came[0]).toStartWith('HTTP/1.1 200')
  expect(came[0]).toContain('first')
  expect(came.slice(1).join('')).toContain('second')
})

test('sealing ends if the reader disconnects before it has read anything', async () => {
  const abort = new AbortController()
  const sealed = Promise.withResolvers<unknown>()
  const seal = async (sink: Sink) => {
    try {
      await sink(encodeText('first'))
    } catch (error) {
      sealed.resolve(error)
      throw error
    }
  }
  await sealedBody(seal, abort.signal, unwanted)
  abort.abort()
  expect(await sealed.promise).toMatchObject({ message: 'the reader disconnected' })
})

test('a failure before the first bytes produces no body', async () => {
  const seal = async () => {
    throw new Error('no key')
  }
  const body = sealedBody(seal, new AbortController().signal, unwanted)
  expect(await thrown(body)).toThrow('no key')
})
