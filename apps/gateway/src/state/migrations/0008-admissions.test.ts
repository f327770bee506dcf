/** Usage that was billed before gateways had numbers of their own. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listRequests } from '../../metering/usage-query.ts'
import { storeUsage } from '../../metering/usage-store.ts'
import { newId } from '../../testing/test-gateway.ts'
import { openEmbeddedDatabase } from '../embedded-database.ts'
import { migrate } from '../migrate.ts'
import { migrations } from './index.ts'

test('rows from before keep their request id, their sums and their order', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-migration-'))
  const database = await openEmbeddedDatabase(directory)
  const before = migrations.findIndex(({ name }) => name === 'admissions')
  await migrate(database, migrations.slice(0, before))
  const requestId = newId()
  await database.script(`
insert into api_keys (id, account_id, name, prefix, hash) values ('key_1', 'acct_default', 'k', 'p', 'h');
insert into usage values ('${requestId}', '2026-01-01', 'acct_default', 'key_1', 'w', 'm', '/v1/chat/completions', 'complete', 200, 10, 4, 5, 100);`)
  await migrate(database)
  const range = { from: new Date('2025-01-01'), to: new Date('2027-01-01') }
  const asked = { accountId: undefined, keyId: 'key_1', ...range }
  const [old] = await listRequests(database, asked, undefined, 10)
  expect(old).toMatchObject({ request_id: requestId, admission_id: requestId, prompt_tokens: 10 })
  // Its number can be chosen again by a client, and is another row.
  await storeUsage(database, [
    {
      ...{ admissionId: newId(), requestId, workerId: 'w', keyId: 'key_1', model: 'm' },
      ...{ path: '/v1/chat/completions', status: 200, outcome: 'complete', promptTokens: 1 },
      ...{ cachedTokens: 0, completionTokens: 1, startedAtMs: Date.UTC(2026, 5), durationMs: 1 },
    },
  ])
  const rows = await listRequests(database, asked, undefined, 10)
  expect(rows.map((row) => row.request_id)).toEqual([requestId, requestId])
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})
