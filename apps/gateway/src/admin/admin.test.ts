/** The admin API as people and shells use it, over HTTP. */
import { afterAll, expect, test } from 'bun:test'
import { password, startAdminWorld } from '../testing/admin-world.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'

const world = await startAdminWorld()
const { gateway, admin, member, outsider, otherAccount, newBrowser, operate, join } = world
afterAll(() => gateway.stop())

test('a key is created with its secret shown once, used, rotated and revoked', async () => {
  const made = await admin.json('POST', 'keys', { name: 'laptop' }, 201)
  const listed = await admin.json('GET', 'keys')
  expect(JSON.stringify(listed)).toContain(String(made.prefix))
  expect(JSON.stringify(listed)).not.toContain(String(made.secret))
  const status = async (secret: unknown) =>
    (
      await fetch(`${gateway.gateway.url}/privatemode/v1/directory`, {
        headers: { authorization: `Bearer ${secret}` },
      })
    ).status
  expect(await status(made.secret)).toBe(200)
  const rotated = await admin.json('POST', `keys/${made.id}/rotate`, {})
  expect(await status(rotated.secret)).toBe(200)
  await admin.json('DELETE', `keys/${made.id}`)
  expect(await status(rotated.secret)).toBe(401)
  expect(await status(made.secret)).toBe(401)
})

test('a member changes only their own keys, and sets no limits', async () => {
  const own = await member.json('POST', 'keys', { name: 'own' }, 201)
  const foreign = await admin.json('POST', 'keys', { name: 'foreign' }, 201)
  expect((await member.request('DELETE', `keys/${foreign.id}`)).status).toBe(403)
  expect((await member.request('DELETE', `keys/${own.id}`)).status).toBe(200)
  const limits = { requests_per_minute: 1 }
  expect((await member.request('POST', 'keys', { name: 'x', limits })).status).toBe(403)
  expect((await member.request('PATCH', `keys/${own.id}`, { limits: null })).status).toBe(403)
})

test('operator and admin actions are refused to members', async () => {
  const forbidden: [string, string, unknown?][] = [
    ['POST', 'accounts', { name: 'x' }],
    ['PATCH', 'accounts/acct_default', { limits: null }],
    ['POST', 'invitations', { role: 'admin' }],
    ['GET', 'workers'],
    ['POST', 'workers/w_one/drain', {}],
  ]
  for (const [method, path, body] of forbidden) {
    expect((await member.request(method, path, body)).status).toBe(403)
  }
  expect((await newBrowser().request('GET', 'keys')).status).toBe(401)
})

test('another account is invisible, even to admins', async () => {
  const made = await admin.json('POST', 'keys', { name: 'theirs' }, 201)
  const { member: self } = await admin.json('GET', 'session')
  for (const [method, path] of [
    ['GET', `keys/${made.id}`],
    ['DELETE', `keys/${made.id}`],
    ['GET', 'keys?account=acct_default'],
    ['GET', 'members?account=acct_default'],
    ['PATCH', `members/${self?.id}`],
    ['GET', 'usage?from=2026-01-01&to=2027-01-01&account=acct_default'],
    ['GET', 'usage/export.csv?from=2026-01-01&to=2027-01-01&account=acct_default'],
  ] as const) {
    const response = await outsider.request(method, path, method === 'PATCH' ? {} : undefined)
    expect(response.status).toBe(404)
  }
  const { accounts } = (await outsider.json('GET', 'accounts')) as unknown as {
    accounts: unknown[]
  }
  expect(accounts).toMatchObject([{ id: otherAccount }])
  expect((await outsider.request('POST', 'accounts', { name: 'x' })).status).toBe(403)
})

test('a disabled member is signed out at once, and the last admin cannot be removed', async () => {
  const browser = await join({ role: 'member' }, 'leaving@example.org')
  const { member: leaving } = await browser.json('GET', 'session')
  await admin.json('PATCH', `members/${leaving?.id}`, { disabled: true })
  expect((await browser.request('GET', 'session')).status).toBe(401)
  const { member: last } = await outsider.json('GET', 'session')
  const demoted = await outsider.request('PATCH', `members/${last?.id}`, { role: 'member' })
  expect(demoted.status).toBe(409)
})

test('you cannot disable your own account', async () => {
  const own = await admin.request('PATCH', 'accounts/acct_default', { disabled: true })
  expect(own.status).toBe(400)
  expect((await admin.request('GET', 'session')).status).toBe(200)
})

test('a disabled account stops its keys', async () => {
  const account = await operate('POST', 'admin/accounts', { name: 'Gone' })
  const made = await operate('POST', 'admin/keys', { name: 'x', account_id: account.id })
  await operate('PATCH', `admin/accounts/${account.id}`, { disabled: true })
  const response = await fetch(`${gateway.gateway.url}/privatemode/v1/directory`, {
    headers: { authorization: `Bearer ${made.secret}` },
  })
  expect(response.status).toBe(401)
})

test('the last worker of a model is not drained without override', async () => {
  const [one, two] = [scriptedWorker('w_first'), scriptedWorker('w_second')]
  await gateway.register(one)
  await gateway.register(two)
  const both = await Promise.all(
    ['w_first', 'w_second'].map((id) => admin.request('POST', `workers/${id}/drain`, {})),
  )
  // Draining the second one would turn all traffic into 503.
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
  const drained = both[0]?.status === 200 ? 'w_first' : 'w_second'
  const last = drained === 'w_first' ? 'w_second' : 'w_first'
  expect(await admin.json('GET', `workers/${last}/drain`)).toEqual({
    ...{ remaining: 0, unserved_models: ['test-model'] },
  })
  await admin.json('DELETE', `workers/${drained}/drain`)
  expect(await admin.json('GET', `workers/${last}/drain`)).toEqual({
    ...{ remaining: 1, unserved_models: [] },
  })
  expect((await member.request('GET', `workers/${last}/drain`)).status).toBe(403)
  for (const worker of [one, two]) {
    await gateway.operate('DELETE', `registry/workers/${worker.id}`)
    await worker.stop()
  }
})

test('workers can be drained and models are listed', async () => {
  const worker = scriptedWorker('w_drained')
  await gateway.register(worker)
  await admin.json('POST', 'workers/w_drained/drain', { override: true })
  expect(await admin.json('GET', 'workers')).toMatchObject({
    workers: [{ id: 'w_drained', draining: true, models: ['test-model'] }],
  })
  expect((await admin.request('POST', 'workers/w_nobody/drain', {})).status).toBe(404)
  await admin.json('DELETE', 'workers/w_drained/drain')
  expect(await member.json('GET', 'models')).toMatchObject({
    models: [{ id: 'test-model', workers: 1 }],
  })
  await worker.stop()
})

test('odd bodies and paths get clear refusals', async () => {
  const code = async (method: string, path: string, body?: unknown) =>
    ((await (await gateway.operate(method, path, body)).json()) as { error: { code: string } })
      .error.code
  expect(await code('POST', 'admin/keys', { name: '' })).toBe('invalid_value')
  expect(await code('POST', 'admin/keys', {})).toBe('missing_parameter')
  expect(await code('POST', 'admin/keys', { name: 'x', admin: true })).toBe('invalid_value')
  expect(await code('POST', 'admin/keys', [])).toBe('invalid_value')
  const long = { name: 'x'.repeat(64 * 1024) }
  expect(await code('POST', 'admin/keys', long)).toBe('request_too_large')
  expect(await code('POST', 'admin/keys', { name: 'x', account_id: 'acct_none' })).toBe('not_found')
  expect(await code('POST', 'admin/keys', { name: 'x', expires_at: 'tomorrow' })).toBe(
    'invalid_value',
  )
  expect(await code('POST', 'admin/accounts', { name: 'x'.repeat(101) })).toBe('invalid_value')
  expect(await code('PATCH', 'admin/accounts/acct_default', { disabled: 'perhaps' })).toBe(
    'invalid_value',
  )
  const passwords = { old_password: password, new_password: password }
  expect(await code('PUT', 'admin/session/password', passwords)).toBe('invalid_value')
  expect(await code('POST', 'admin/invitations', { role: 'member', email: 'nobody' })).toBe(
    'invalid_value',
  )
  expect(await code('POST', 'admin/invitations', { role: 'owner' })).toBe('invalid_value')
  expect(await code('GET', 'admin/oidc/start')).toBe('not_found')
  expect(await code('PUT', 'admin/keys', {})).toBe('method_not_allowed')
  expect(await code('GET', 'admin/nothing')).toBe('not_found')
  expect(await code('GET', 'admin/keys/..%2f..%2fx')).toBe('not_found')
  expect(await code('GET', 'admin/usage?from=2026-01-01&to=2026-01-02&by=secret')).toBe(
    'invalid_value',
  )
  expect(await code('GET', "admin/usage?from=2026-01-01&to=2026-01-02&step=hour'")).toBe(
    'invalid_value',
  )
})
