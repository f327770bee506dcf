/** Whose failed sign-ins are counted behind a load balancer. */
import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { openDatabase } from '../state/open-database.ts'
import { freshDataDir } from '../testing/test-data-dir.ts'
import { startTestGateway } from '../testing/test-gateway.ts'

test.each([
  ['1', 429],
  ['0', 401],
])(
  'with %s load balancers in front, a locked address in the header is answered with %i',
  async (hops, status) => {
    const dataDir = await freshDataDir()
    const database = await openDatabase({ kind: 'embedded', directory: dataDir })
    await database.query(
      `insert into sign_in_failures (subject, failures, last_at, locked_until)
     values ('address 203.0.113.7', 50, now(), now() + interval '1 hour')`,
    )
    await database.close()
    const { gateway, stop } = await startTestGateway({ dataDir, args: ['--forwardedHops', hops] })
    const response = await fetch(`${gateway.url}/privatemode/v1/admin/session`, {
      method: 'POST',
      headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' },
      body: JSON.stringify({ email: 'one@example.org', password: 'a wrong guess' }),
    })
    expect(response.status).toBe(status)
    await stop()
    rmSync(dataDir, { recursive: true })
  },
)
