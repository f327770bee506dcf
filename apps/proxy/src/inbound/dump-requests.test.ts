import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDump } from './dump-requests.ts'

test('a pair of files per request, by day, for the owner only, without keys', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'dump-'))
  const dump = createDump(workspace, (error) => {
    throw error
  })
  const headers = new Headers({ authorization: 'Bearer sk-1', 'x-api-key': 'sk-2', accept: 'a/b' })
  const dumped = dump.begin('POST', '/v1/x', headers, Buffer.from('{"q":1}'))
  dumped.end('id1', 200, { 'content-type': 'a/b' }, [Buffer.from('one '), Buffer.from('two')])
  await dump.settled()
  const [day = ''] = readdirSync(join(workspace, 'requests'))
  expect(day).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  const folder = join(workspace, 'requests', day)
  const files = readdirSync(folder).sort()
  expect(files.map((name) => name.replace(/^.*id1/, ''))).toEqual(['-request.txt', '-response.txt'])
  const [request = '', response = ''] = files.map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  )
  expect(request).toContain('POST /v1/x HTTP/1.1')
  expect(request).toContain('authorization: [redacted]')
  expect(request).toEndWith('\n\n{"q":1}')
  expect(request).not.toContain('sk-')
  expect(response).toEndWith('\n\none two')
  for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('a dump that cannot be written is reported and affects nothing else', async () => {
  const errors: unknown[] = []
  const dump = createDump('/proc/none', (error) => void errors.push(error))
  dump.begin('GET', '/', new Headers(), new Uint8Array()).end('id', 200, {}, [])
  await dump.settled()
  expect(errors).toHaveLength(2)
})
