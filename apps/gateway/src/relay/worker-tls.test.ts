/** Workers over https with a private certificate authority. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestAuthority } from '../../../../packages/service/src/testing/certificates.ts'
import { thrown } from '../../../../test/rejection.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'
import { startTestGateway } from '../testing/test-gateway.ts'

const authority = createTestAuthority('Operator CA')
const folder = mkdtempSync(join(tmpdir(), 'worker-tls-'))
const caPath = join(folder, 'ca.pem')
writeFileSync(caPath, authority.certPem)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function askBoth(args: readonly string[]) {
  const gateway = await startTestGateway({ args: ['--leaseSeconds', '600', ...args] })
  const worker = scriptedWorker('w_tls', undefined, authority.issue(['127.0.0.1']))
  try {
    await gateway.register(worker)
    const { secret } = await gateway.createKey()
    const sealed = await gateway.seal(secret, ['w_tls'])
    const url = `${gateway.gateway.url}/privatemode/v1/workers/w_tls/attestation`
    const evidence = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ nonce: '0f'.repeat(32) }),
    })
    return { sealed: sealed.status, evidence: evidence.status, seen: worker.seen.length }
  } finally {
    await gateway.stop()
    await worker.stop()
  }
}

test('--workerCaPath applies to sealed requests and to evidence', async () => {
  expect(await askBoth(['--workerCaPath', caPath])).toEqual({ sealed: 200, evidence: 200, seen: 2 })
})

test('a worker whose authority is unknown gets neither', async () => {
  expect(await askBoth([])).toEqual({ sealed: 502, evidence: 502, seen: 0 })
})

test('a file that has no certificate is named when the gateway starts', async () => {
  expect(await thrown(askBoth(['--workerCaPath', join(folder, 'none.pem')]))).toThrow(
    /workerCaPath names .*none\.pem, which cannot be read/,
  )
})
