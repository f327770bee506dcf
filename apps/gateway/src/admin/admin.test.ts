/** The admin API as people and shells use it, over HTTP. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Browser, openBrowser } from '../testing/browser.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts'

const password = 'correct horse battery staple'
let gateway: TestGateway
let admin: Browser
let member: Browser
let outsider: Browser
let otherAccount: string

beforeAll(async () => {
  gateway = await startTestGateway({ args: ['--leaseSeconds', '600'] })
  admin = await join({ role: 'admin' }, 'admin@example.org')
  member = await join({ role: 'member' }, 'member@example.org')
  const account = await operate('POST', 'admin/accounts', { name: 'Other' })
  otherAccount = String(account.id)
  outsider = await join({ role: 'admin', account_id: otherAccount }, 'other@example.org')
})

afterAll(() => gateway.stop())

async function operate(method: string, path: string, body?: unknown) {
  return (await (await gateway.operate(method, path, body)).json()) as Record<string, unknown>
}

/** Takes a one-time link and becomes a member with it. */
async function join(wish: object, email: string): Promise<Browser> {
  const { url } = await operate('POST', 'admin/invitations', wish)
  const browser = openBrowser(gateway.gateway.url)
  await browser.json('POST', 'invitations/accept', { token: tokenIn(url), email, password })
  return browser
}

const tokenIn = (url: unknown) => String(url).split('#invitation=')[1]

test('a one-time link works once, and its token is not in the path of any request', async () => {
  const { url } = await operate('POST', 'admin/invitations', { role: 'member' })
  expect(new URL(String(url)).pathname).toBe('/')
  const accept = { token: tokenIn(url), email: 'once@example.org', password }
  const browser = openBrowser(gateway.gateway.url)
  await browser.json('POST', 'invitations/accept', accept)
  const again = await openBrowser(gateway.gateway.url).request('POST', 'invitations/accept', {
    ...accept,
    email: 'twice@example.org',
  })
  expect(again.status).toBe(403)
})

test('the session is in a cookie that scripts and other sites cannot use', async () => {
  const browser = openBrowser(gateway.gateway.url)
  const response = await browser.request('POST', 'session', {
    email: 'admin@example.org',
    password,
  })
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toContain('HttpOnly')
  expect(cookie).toContain('SameSite=Strict')
  expect(await browser.json('GET', 'session')).toMatchObject({
    member: { email: 'admin@example.org', role: 'admin', operates: true },
  })
})

test('signing out ends the session for good', async () => {
  const browser = openBrowser(gateway.gateway.url)
  await browser.json('POST', 'session', { email: 'admin@example.org', password })
  const { cookie } = browser
  await browser.json('DELETE', 'session')
  browser.cookie = cookie
  expect((await browser.request('GET', 'session')).status).toBe(401)
})

test('a change needs the token of the page and the own origin', async () => {
  const without = await admin.request('POST', 'keys', { name: 'x' }, { 'x-csrf-token': '' })
  expect(without.status).toBe(403)
  const wrong = await admin.request(
    'POST',
    'keys',
    { name: 'x' },
    { 'x-csrf-token': 'x'.repeat(43) },
  )
  expect(wrong.status).toBe(403)
  const elsewhere = { origin: 'https://evil.example' }
  expect((await admin.request('POST', 'keys', { name: 'x' }, elsewhere)).status).toBe(403)
  const signIn = { email: 'admin@example.org', password }
  expect((await admin.request('POST', 'session', signIn, elsewhere)).status).toBe(403)
})

test('wrong passwords are refused alike for people who exist and who do not, then locked out', async () => {
  const guess = (email: string) =>
    openBrowser(gateway.gateway.url).request('POST', 'session', {
      email,
      password: 'wrong guess 123',
    })
  await join({ role: 'member' }, 'victim@example.org')
  const bodies = []
  for (const email of ['victim@example.org', 'nobody@example.org']) {
    const response = await guess(email)
    expect(response.status).toBe(401)
    bodies.push(await response.text())
  }
  expect(bodies[0]).toBe(bodies[1]!)
  for (let tries = 0; tries < 4; tries++) await guess('Victim@example.org')
  const locked = await openBrowser(gateway.gateway.url).request('POST', 'session', {
    email: 'victim@example.org',
    password, // even the right one
  })
  expect(locked.status).toBe(429)
  expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(20)
})

test('a short password is refused, and a change of password ends other sessions', async () => {
  const one = await join({ role: 'member' }, 'careful@example.org')
  const two = openBrowser(gateway.gateway.url)
  await two.json('POST', 'session', { email: 'careful@example.org', password })
  const change = (next: string) =>
    one.request('PUT', 'session/password', { old_password: password, new_password: next })
  expect((await change('short')).status).toBe(400)
  expect((await change('another long password')).status).toBe(200)
  expect((await two.request('GET', 'session')).status).toBe(401)
  expect((await one.request('GET', 'session')).status).toBe(200)
})

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

test('a member changes own keys only, and sets no limits', async () => {
  const own = await member.json('POST', 'keys', { name: 'own' }, 201)
  const foreign = await admin.json('POST', 'keys', { name: 'foreign' }, 201)
  expect((await member.request('DELETE', `keys/${foreign.id}`)).status).toBe(403)
  expect((await member.request('DELETE', `keys/${own.id}`)).status).toBe(200)
  const limits = { requests_per_minute: 1 }
  expect((await member.request('POST', 'keys', { name: 'x', limits })).status).toBe(403)
  expect((await member.request('PATCH', `keys/${own.id}`, { limits: null })).status).toBe(403)
})

test('what operates or administers is refused to members', async () => {
  const forbidden: [string, string, unknown?][] = [
    ['POST', 'accounts', { name: 'x' }],
    ['PATCH', 'accounts/acct_default', { limits: null }],
    ['POST', 'invitations', { role: 'admin' }],
    ['GET', 'workers'],
    ['POST', 'workers/w_one/drain'],
  ]
  for (const [method, path, body] of forbidden) {
    expect((await member.request(method, path, body)).status).toBe(403)
  }
  expect((await openBrowser(gateway.gateway.url).request('GET', 'keys')).status).toBe(401)
})

test('another account is invisible, also to its own admins', async () => {
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

test('a disabled member is out at once, and the last admin stays', async () => {
  const browser = await join({ role: 'member' }, 'leaving@example.org')
  const { member: leaving } = await browser.json('GET', 'session')
  await admin.json('PATCH', `members/${leaving?.id}`, { disabled: true })
  expect((await browser.request('GET', 'session')).status).toBe(401)
  const { member: last } = await outsider.json('GET', 'session')
  const demoted = await outsider.request('PATCH', `members/${last?.id}`, { role: 'member' })
  expect(demoted.status).toBe(409)
})

test('nobody disables the account that lets one in', async () => {
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

test('workers can be drained and models are listed', async () => {
  const worker = scriptedWorker('w_drained')
  await gateway.register(worker)
  await admin.json('POST', 'workers/w_drained/drain')
  expect(await admin.json('GET', 'workers')).toMatchObject({
    workers: [{ id: 'w_drained', draining: true, models: ['test-model'] }],
  })
  expect((await admin.request('POST', 'workers/w_nobody/drain')).status).toBe(404)
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
