/** How people sign in and out: links, passwords, cookies. */
import { afterAll, expect, test } from 'bun:test'
import { enterHashing } from '../members/password.ts'
import { password, startAdminWorld, tokenIn } from '../testing/admin-world.ts'

const { gateway, admin, newBrowser, operate, join } = await startAdminWorld()
afterAll(() => gateway.stop())

test('a one-time link works once, and its token is not in the path of any request', async () => {
  const { url } = await operate('POST', 'admin/invitations', { role: 'member' })
  expect(new URL(String(url)).pathname).toBe('/')
  const accept = { token: tokenIn(url), email: 'once@example.org', password }
  const browser = newBrowser()
  await browser.json('POST', 'invitations/accept', accept)
  const again = await newBrowser().request('POST', 'invitations/accept', {
    ...accept,
    email: 'twice@example.org',
  })
  expect(again.status).toBe(403)
})

test('the session is in a cookie that scripts and other sites cannot use', async () => {
  const browser = newBrowser()
  const response = await browser.request('POST', 'session', {
    email: 'admin@example.org',
    password,
  })
  const cookies = response.headers.getSetCookie()
  expect(cookies).toHaveLength(2) // the session, and that this browser is known
  for (const cookie of cookies) {
    expect(cookie).toContain('; HttpOnly')
    expect(cookie).toContain('; SameSite=Strict')
  }
  expect(await browser.json('GET', 'session')).toMatchObject({
    member: { email: 'admin@example.org', role: 'admin', operates: true },
  })
})

test('signing out ends the session for good', async () => {
  const browser = newBrowser()
  await browser.json('POST', 'session', { email: 'admin@example.org', password })
  const { cookie } = browser
  await browser.json('DELETE', 'session')
  browser.cookie = cookie
  expect((await browser.request('GET', 'session')).status).toBe(401)
})

test("a change needs the page's CSRF token and the same origin", async () => {
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

test('wrong passwords are refused identically for known and unknown addresses, then locked out', async () => {
  const guess = (email: string) =>
    newBrowser().request('POST', 'session', {
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
  const locked = await newBrowser().request('POST', 'session', {
    email: 'victim@example.org',
    password, // even the right one
  })
  expect(locked.status).toBe(429)
  expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(20)
})

test('a short password is refused, and a change of password ends other sessions', async () => {
  const one = await join({ role: 'member' }, 'careful@example.org')
  const two = newBrowser()
  await two.json('POST', 'session', { email: 'careful@example.org', password })
  const change = (next: string) =>
    one.request('PUT', 'session/password', { old_password: password, new_password: next })
  expect((await change('short')).status).toBe(400)
  expect((await change('another long password')).status).toBe(200)
  expect((await two.request('GET', 'session')).status).toBe(401)
  expect((await one.request('GET', 'session')).status).toBe(200)
})

/** Whether fewer than four sign-ins from this machine wait. */
function hasFreeSlot(): boolean {
  try {
    enterHashing({ name: 'address 127.0.0.1', isKnown: false }).end()
    return true
  } catch {
    return false
  }
}

test('a password reset also ends sign-ins that were waiting with the old password', async () => {
  const email = 'hurried@example.org'
  const { member } = await (await join({ role: 'member' }, email)).json('GET', 'session')
  const { url } = await operate('POST', `admin/members/${member?.id}/reset`)
  // All hashing slots are taken: the sign-ins wait with the old hash, and the link goes first.
  const release: (() => void)[] = []
  for (const name of ['one', 'two']) {
    const turn = enterHashing({ name, isKnown: true })
    void turn.run(() => new Promise<void>((resolve) => release.push(resolve))).finally(turn.end)
  }
  const browsers = Array.from({ length: 4 }, newBrowser)
  const signIns = browsers.map((browser) => browser.request('POST', 'session', { email, password }))
  while (hasFreeSlot()) await admin.json('GET', 'session')
  const body = { token: tokenIn(url), password: 'another long password' }
  const reset = newBrowser().request('POST', 'invitations/accept', body)
  await admin.json('GET', 'session')
  for (const each of release) each()
  expect((await reset).status).toBe(200)
  await Promise.all(signIns)
  for (const browser of browsers) {
    expect((await browser.request('GET', 'session')).status).toBe(401)
  }
}, 120_000)
