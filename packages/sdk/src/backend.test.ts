import { expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { Backend } from './backend.ts'

const listed = (id: unknown) => ({ id, models: ['m'], seal_key_id: 'ab' })

const directoryOf = (workers: unknown) =>
  new Backend('https://gateway', async () => Response.json({ workers })).directory('key')

test('a directory is read up to as many workers as a registry can hold', async () => {
  const workers = Array.from({ length: 4200 }, (_, index) => listed(`w_${index}`))
  expect(await directoryOf(workers)).toHaveLength(4096)
})

test('entries without a proper id, key id or list of models are skipped', async () => {
  const odd = [
    ...['', 'a/b', '../x', 'w_1\r\nx: y', 'w'.repeat(81), 7].map(listed),
    ...[null, {}, { ...listed('w_1'), models: 'm' }, { ...listed('w_2'), seal_key_id: 1 }],
  ]
  const mixed = { ...listed('w_4'), models: ['m', 1, null] }
  expect(await directoryOf([...odd, listed('w_3'), mixed])).toEqual([
    { id: 'w_3', models: ['m'], sealKeyId: 'ab' },
    { id: 'w_4', models: ['m'], sealKeyId: 'ab' },
  ])
})

test('a directory over 4 MiB is not read to its end', async () => {
  let sent = 0
  const endless = new ReadableStream({
    pull(stream) {
      sent += 65_536
      if (sent > 64 * 1024 * 1024) stream.close()
      else stream.enqueue(new Uint8Array(65_536).fill(0x20))
    },
  })
  const backend = new Backend('https://gateway', async () => new Response(endless))
  expect(await rejection(backend.directory('key'))).toMatchObject({ code: 'upstream_error' })
  expect(sent).toBeLessThan(5 * 1024 * 1024)
})

test('a directory that is not a list of workers is refused', async () => {
  for (const workers of [undefined, {}, 'w_1']) {
    expect(await rejection(directoryOf(workers))).toMatchObject({ code: 'upstream_error' })
  }
})

test('an error that quotes the header with the API key is not passed on, and any other is', async () => {
  const { signal } = new AbortController()
  const failing = (message: string) => {
    const fetch = () => Promise.reject(new TypeError(message))
    const backend = new Backend('https://gateway', fetch)
    return [
      backend.directory('pm_secret'),
      backend.send({ authorization: 'Bearer pm_secret' }, new Uint8Array(), signal),
    ]
  }
  for (const call of failing('"Bearer pm_secret" is an invalid header value')) {
    const error = (await rejection(call)) as Error
    expect(error).toMatchObject({ code: 'gateway_unreachable', cause: undefined })
    expect(error.message).not.toContain('pm_secret')
  }
  for (const call of failing('unknown certificate authority')) {
    const message = 'gateway unreachable at https://gateway: unknown certificate authority'
    expect(await rejection(call)).toMatchObject({ message, cause: expect.any(TypeError) })
  }
})
