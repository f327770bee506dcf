/** The audit log: every change and every failed sign-in has an entry, and only admins read it. */
import { afterAll, expect, test } from 'bun:test'
import { password, startAdminWorld, tokenIn } from '../testing/admin-world.ts'
import type { Browser } from '../testing/browser.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'
import { adminRoutes } from './admin-routes.ts'

const world = await startAdminWorld()
const { gateway, admin, member, outsider, otherAccount, newBrowser, operate } = world
const worker = scriptedWorker('w_audited')
await gateway.register(worker)
afterAll(async () => {
  await gateway.stop()
  await worker.stop()
})

type Entry = { readonly id: number; readonly action: string; readonly [field: string]: unknown }

async function entries(browser: Browser, query = ''): Promise<readonly Entry[]> {
  return (await browser.json('GET', `audit${query}`)).events as readonly Entry[]
}

/** The newest entry after an action. */
async function newest(): Promise<Entry | undefined> {
  return (await entries(admin, '?limit=1'))[0]
}

test('every route that changes something leaves an entry: who, what, whom, when, from where', async () => {
  const self = (await admin.json('GET', 'session')).member
  const key = await admin.json('POST', 'keys', { name: 'audited' }, 201)
  const victim = (await member.json('GET', 'session')).member
  const invitation = await admin.json('POST', 'invitations', { role: 'member' }, 201)
  const account = await admin.json('POST', 'accounts', { name: 'Audited' }, 201)
  const done: Record<string, [path: string, body: unknown, action: string, subject: unknown]> = {
    'POST /keys': ['keys', { name: 'second' }, 'key.created', 'second'],
    'PATCH /keys/{id}': [`keys/${key.id}`, { name: 'renamed' }, 'key.changed', 'audited'],
    'POST /keys/{id}/rotate': [`keys/${key.id}/rotate`, {}, 'key.rotated', 'renamed'],
    'DELETE /keys/{id}': [`keys/${key.id}`, undefined, 'key.revoked', 'renamed'],
    'PATCH /members/{id}': [
      ...[`members/${victim?.id}`, { name: 'Renamed' }, 'member.changed', 'member@example.org'],
    ] as never,
    'POST /members/{id}/reset': [
      ...[
        `members/${victim?.id}/reset`,
        undefined,
        'password.reset_requested',
        'member@example.org',
      ],
    ] as never,
    'POST /invitations': [
      ...[
        'invitations',
        { role: 'admin', email: 'n@example.org' },
        'invitation.created',
        'n@example.org',
      ],
    ] as never,
    'DELETE /invitations/{id}': [
      ...[`invitations/${invitation.id}`, undefined, 'invitation.revoked', 'any address'],
    ] as never,
    'PUT /prices': ['prices', { currency: 'EUR', models: [] }, 'prices.changed', 'prices'],
    'PUT /budgets/{id}': [
      `budgets/${account.id}`,
      { budget_micros: 1 },
      'budget.changed',
      'Audited',
    ],
    'DELETE /budgets/{id}': [`budgets/${account.id}`, undefined, 'budget.changed', 'Audited'],
    'POST /accounts': ['accounts', { name: 'Third' }, 'account.created', 'Third'],
    'PATCH /accounts/{id}': [
      `accounts/${account.id}`,
      { name: 'Other' },
      'account.changed',
      'Other',
    ],
    'POST /workers/{id}/drain': [
      'workers/w_audited/drain',
      { override: true },
      'worker.drained',
      'w_audited',
    ],
    'DELETE /workers/{id}/drain': [
      ...['workers/w_audited/drain', undefined, 'worker.undrained', 'w_audited'],
    ] as never,
    'PUT /session/password': [
      ...['session/password', { old_password: password, new_password: password }],
      ...['password.changed', 'admin@example.org'],
    ] as never,
  }
  for (const [route, [path, body, action, subject]] of Object.entries(done)) {
    const [method = ''] = route.split(' ')
    const response = await admin.request(method, path, body)
    expect([route, response.ok]).toEqual([route, true])
    if (route === 'PUT /session/password') {
      admin.csrfToken = ((await response.json()) as { csrf_token: string }).csrf_token
    }
    expect([route, await newest()]).toEqual([
      route,
      expect.objectContaining({
        ...{ action, subject_name: subject, actor_id: self?.id, actor_name: 'admin@example.org' },
        ...{ address: '127.0.0.1', times: 1, at: expect.any(String) },
      }),
    ])
  }
  const others = adminRoutes.filter(
    (route) => route.access === 'signed_in' && route.method !== 'GET' && route.path !== '/session',
  )
  // A new route that changes something must be added here.
  expect(others.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    Object.keys(done).toSorted(),
  )
}, 240_000)

test('a change that fails leaves no entry, and an entry never has a secret', async () => {
  const before = await newest()
  expect((await admin.request('PATCH', 'accounts/acct_none', { name: 'x' })).status).toBe(404)
  expect((await member.request('POST', 'accounts', { name: 'x' })).status).toBe(403)
  expect(await newest()).toEqual(before)
  const key = await admin.json('POST', 'keys', { name: 'with a secret' }, 201)
  const link = await admin.json('POST', 'invitations', { role: 'member' }, 201)
  const text = JSON.stringify(await entries(admin, '?limit=1000'))
  for (const secret of [key.secret, tokenIn(link.url), password]) {
    expect(text).not.toContain(String(secret))
  }
})

test('sign-ins are kept, and those that fail are counted in one entry', async () => {
  const attempt = { email: 'member@example.org', password: 'not the password' }
  for (let tries = 0; tries < 2; tries++) {
    expect((await newBrowser().request('POST', 'session', attempt)).status).toBe(401)
  }
  expect(await newest()).toMatchObject({
    ...{ action: 'sign_in.failed', subject_name: 'member@example.org', times: 2 },
    ...{ actor_id: null, account_id: 'acct_default', address: '127.0.0.1' },
  })
  await newBrowser().json('POST', 'session', { ...attempt, password })
  expect(await newest()).toMatchObject({
    ...{ action: 'sign_in.succeeded', actor_name: 'member@example.org' },
  })
  await newBrowser().request('POST', 'session', { ...attempt, email: 'nobody@example.org' })
  expect(await newest()).toMatchObject({ action: 'sign_in.failed', account_id: null })
}, 240_000)

test('an attempt to use an expired link is recorded', async () => {
  const { id, url } = await admin.json('POST', 'invitations', { role: 'member' }, 201)
  await admin.json('DELETE', `invitations/${id}`)
  const accept = { token: tokenIn(url), email: 'late@example.org', password }
  expect((await newBrowser().request('POST', 'invitations/accept', accept)).status).toBe(403)
  expect(await newest()).toMatchObject({ action: 'invitation.refused', subject_id: id })
})

test('admins read the entries of their account, operators all, members none', async () => {
  expect((await member.request('GET', 'audit')).status).toBe(403)
  expect((await member.request('GET', 'audit/export')).status).toBe(403)
  expect((await outsider.request('GET', 'audit?account=acct_default')).status).toBe(404)
  await admin.json('PATCH', `accounts/${otherAccount}`, { name: 'Renamed' })
  const theirs = await entries(outsider)
  expect(theirs.every(({ account_id }) => account_id === otherAccount)).toBe(true)
  // They must not learn who operates the deployment, and from where.
  expect(theirs[0]).toMatchObject({
    ...{ action: 'account.changed', actor_id: 'operator', actor_name: 'operator', address: null },
  })
  expect((await entries(admin, `?account=${otherAccount}&limit=1`))[0]).toMatchObject({
    ...{ actor_name: 'admin@example.org', address: '127.0.0.1' },
  })
})

test('pages are consecutive, and an export has everything as CSV and as JSON', async () => {
  const first = await admin.json('GET', 'audit?limit=3')
  const second = await entries(admin, `?limit=3&before=${first.next}`)
  const ids = [...(first.events as Entry[]), ...second].map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  expect(new Set(ids).size).toBe(6)
  await operate('POST', 'admin/keys', { name: '=cmd|"calc",x' })
  const csv = await (await admin.request('GET', 'audit/export')).text()
  const json = (await admin.json('GET', 'audit/export?format=json')) as { events?: Entry[] }
  expect(csv.split('\r\n').length - 2).toBe(json.events?.length ?? 0)
  expect(csv).toContain(`"'=cmd|""calc"",x"`) // no formula for a spreadsheet
  const future = await entries(admin, '?from=2999-01-01')
  expect(future).toEqual([])
  expect(await admin.json('GET', 'audit/export?format=json&from=2999-01-01')).toEqual({
    events: [],
  })
})
