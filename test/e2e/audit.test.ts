/** A client checks its bill against its receipts, with the documented command. */
import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerOf, privateFetch } from '@privatemode/sdk'
import { adminToken, startSystem } from './system.ts'

const system = await startSystem()
afterAll(() => system.stop(), 90_000)
const main = join(import.meta.dir, '../../apps/gateway/src/main.ts')

/** Asks and reads to the end; the receipt as a line for the file. */
async function ask(path: string, stream: boolean): Promise<string> {
  const request = { model: 'org/chat-1', max_tokens: 20, stream }
  const messages = [{ role: 'user', content: 'hello' }]
  const client = system.client()
  const fetch = privateFetch({ client, apiKey: system.apiKey, defaultSalt: undefined })
  const response = await fetch(client.endpoint + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, messages }),
  })
  await response.text()
  const { signed } = await (answerOf(response)?.receipt() ?? Promise.reject(new Error('none')))
  return JSON.stringify({ record: Buffer.from(signed.record).toString('base64') })
}

async function exportBill(rows: number): Promise<string> {
  const url = `${system.gatewayUrl}/privatemode/v1/admin/usage/export.csv?from=2020-01-01&to=2100-01-01`
  for (let tries = 0; ; tries++) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${adminToken}` } })
    const csv = await response.text()
    if (csv.trimEnd().split('\r\n').length === rows + 1) return csv
    if (tries === 200) throw new Error(`the bill has not ${rows} rows: ${csv}`)
    await Bun.sleep(50)
  }
}

function audit(receipts: readonly string[], bill: string): { code: number; printed: string } {
  const paths = { receipts: join(system.folder, 'receipts'), bill: join(system.folder, 'bill.csv') }
  writeFileSync(paths.receipts, `${receipts.join('\n')}\n`)
  writeFileSync(paths.bill, bill)
  const files = ['--receipts', paths.receipts, '--bill', paths.bill]
  const run = Bun.spawnSync([process.execPath, main, 'usage', 'audit', ...files])
  return { code: run.exitCode, printed: run.stdout.toString() + run.stderr.toString() }
}

test('receipts match the bill, and changes to the bill are found', async () => {
  const receipts = [
    await ask('/v1/chat/completions', false),
    await ask('/v1/chat/completions', true),
    await ask('/v1/messages', false),
  ]
  const bill = await exportBill(3)
  expect(audit(receipts, bill)).toEqual({
    code: 0,
    printed: '3 receipts, 3 billed, 0 differences, 0 unreadable\n',
  })
  const lines = bill.trimEnd().split('\r\n')
  const twice = audit(receipts, [...lines, lines[1]].join('\r\n'))
  expect(twice).toMatchObject({ code: 1, printed: expect.stringContaining('billed_again') })
  const less = audit(receipts, lines.slice(0, -1).join('\r\n'))
  expect(less).toMatchObject({ code: 1, printed: expect.stringContaining('not_billed') })
  const more = audit(receipts.slice(1), bill)
  expect(more).toMatchObject({ code: 1, printed: expect.stringContaining('no_receipt') })
  const columns = (lines[0] ?? '').split(',')
  const dear = (lines[1] ?? '').split(',')
  dear[columns.indexOf('completion_tokens')] += '0'
  const changed = audit(receipts, [lines[0], dear.join(','), ...lines.slice(2)].join('\r\n'))
  expect(changed).toMatchObject({ code: 1, printed: expect.stringContaining('completion_tokens') })
}, 240_000)
