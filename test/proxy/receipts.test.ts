/** Receipts stored by the proxy match the bill. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adminToken } from '../e2e/system.ts'
import { startProxy } from './proxy-process.ts'
import {
  chat,
  chatPath,
  post,
  type ScriptedSystem,
  startScriptedSystem,
} from './scripted-system.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-receipts-'))
const receipts = join(folder, 'receipts.jsonl')
const gatewayMain = join(import.meta.dir, '../../apps/gateway/src/main.ts')
let scripted: ScriptedSystem

beforeAll(async () => {
  scripted = await startScriptedSystem()
}, 150_000)
afterAll(async () => {
  await scripted.system.stop()
  rmSync(folder, { recursive: true, force: true })
}, 240_000)

const linesOf = (path: string): string[] =>
  existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600 && !(await isTrue()); tries++) await Bun.sleep(50)
}

test('the receipts of whole and streamed answers are kept, and the audit of the bill reads them', async () => {
  const { system } = scripted
  const args = ['--apiKey', system.apiKey, '--receipts', receipts]
  const proxy = await startProxy(system, { args })
  for (const stream of [false, true]) {
    await (await post(proxy, chatPath, chat({ stream }))).text()
  }
  await until(() => linesOf(receipts).length === 2)
  await proxy.stop()
  expect(linesOf(receipts)).toHaveLength(2)
  expect(statSync(receipts).mode & 0o777).toBe(0o600)
  const url = `${system.gatewayUrl}/privatemode/v1/admin/usage/export.csv?from=2020-01-01&to=2100-01-01`
  let bill = ''
  await until(async () => {
    const headers = { authorization: `Bearer ${adminToken}` }
    bill = await (await fetch(url, { headers })).text()
    return bill.trimEnd().split('\r\n').length === 3
  })
  writeFileSync(join(folder, 'bill.csv'), bill)
  const files = ['--receipts', receipts, '--bill', join(folder, 'bill.csv')]
  const audit = Bun.spawnSync([process.execPath, gatewayMain, 'usage', 'audit', ...files])
  expect(audit.stdout.toString()).toBe('2 receipts, 2 billed, 0 differences, 0 unreadable\n')
}, 120_000)
