import { expect, test } from 'bun:test'
import { AttestationError } from '@privatemode/sdk'
import { ServiceError } from '@privatemode/service'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { Channel } from './channel.ts'

type Echo = { readonly echo: { readonly asked: string; readonly answered: string } }

/** Two ends of one channel; messages are serialized as text, as between processes. */
function connected(answer: (asked: string) => Promise<string>) {
  const far = new Channel<Echo, Echo>((message) => near.receive(copy(message)), { echo: answer })
  const near: Channel<Echo, Echo> = new Channel((message) => far.receive(copy(message)), {
    echo: async (asked) => asked,
  })
  return near
}

const copy = (message: unknown) => JSON.parse(JSON.stringify(message))

test('a question is answered, and concurrent questions get their own answers', async () => {
  const channel = connected(async (asked) => {
    await Bun.sleep(asked === 'slow' ? 5 : 0)
    return `${asked}!`
  })
  const asked = ['slow', 'quick', 'third']
  const answers = await Promise.all(asked.map((one) => channel.ask('echo', one, 1000)))
  expect(answers).toEqual(['slow!', 'quick!', 'third!'])
})

test.each([
  ['attestation', new AttestationError('log_forked', 'the log forked')],
  ['service', new ServiceError('unknown_authority', 'signed by X; set SSL_CERT_FILE')],
])('an error of %s arrives with its class, code and message', async (_name, error) => {
  const channel = connected(() => Promise.reject(error))
  const seen = await channel.ask('echo', 'x', 1000).catch((caught: unknown) => caught)
  expect(seen).toBeInstanceOf(error.constructor)
  expect(seen).toMatchObject({ code: error.code, message: error.message })
})

test('the cause of an error arrives in its message', async () => {
  const cause = new ServiceError('unknown_authority', 'set SSL_CERT_FILE')
  const error = new AttestationError('log_unreachable', 'no checkpoint', { cause })
  const channel = connected(() => Promise.reject(error))
  expect(await thrown(channel.ask('echo', 'x', 1000))).toThrow('no checkpoint: set SSL_CERT_FILE')
})

test('a system error keeps its code for the log', async () => {
  const error = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  const channel = connected(() => Promise.reject(error))
  expect(await rejection(channel.ask('echo', 'x', 1000))).toMatchObject({
    code: 'ENOSPC',
    message: 'no space left',
  })
})

test('an error without a code reveals its name and nothing else', async () => {
  const channel = connected(() => Promise.reject(new TypeError('secret text')))
  const seen = await channel.ask('echo', 'x', 1000).catch((caught: Error) => caught.message)
  expect(seen).toBe('failed with TypeError')
})

test('a process that is too slow or gone is not waited for', async () => {
  const channel = connected(() => new Promise(() => {}))
  expect(await thrown(channel.ask('echo', 'x', 5))).toThrow('no answer to echo within 5 ms')
  const waiting = channel.ask('echo', 'x', 10_000)
  channel.close()
  expect(await thrown(waiting)).toThrow('the other process has exited')
  expect(await thrown(channel.ask('echo', 'x', 10_000))).toThrow('the other process has exited')
})
