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
