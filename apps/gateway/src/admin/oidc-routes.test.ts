/** Signing in through an identity provider, as a browser goes there and back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openBrowser } from '../testing/browser.ts'
import { type IdentityProvider, identityProvider } from '../testing/identity-provider.ts'
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts'

let provider: IdentityProvider
let gateway: TestGateway

beforeAll(async () => {
  provider = await identityProvider()
  gateway = await startTestGateway({
    args: [
      ['--publicUrl', 'http://portal.test'],
      ['--oidcIssuer', provider.issuer],
      ['--oidcClientId', 'gateway'],
      ['--oidcClientSecret', 'secret'],
    ].flat(),
  })
  const invited = await gateway.operate('POST', 'admin/invitations', { role: 'member' })
  const { url } = (await invited.json()) as { url: string }
  const token = url.split('#invitation=')[1]
  const person = { email: 'one@example.org', password: 'correct horse battery staple' }
  await openBrowser(gateway.gateway.url).json('POST', 'invitations/accept', { token, ...person })
})

afterAll(async () => {
  await gateway.stop()
  await provider.stop()
})

/** Where the provider sends a browser back to, below the admin API. */
async function goThere(location: string | null): Promise<string> {
  const answer = await fetch(location ?? '', { redirect: 'manual' })
  const { pathname, search } = new URL(answer.headers.get('location') ?? '')
  return pathname.replace('/privatemode/v1/admin/', '') + search
}

test('the browser that began returns signed in; another one gets an error', async () => {
  provider.person = { sub: 'subject-1', email: 'one@example.org', email_verified: true }
  const browser = openBrowser(gateway.gateway.url)
  const start = await browser.request('GET', 'oidc/start')
  expect(start.status).toBe(302)
  const cookie = start.headers.get('set-cookie') ?? ''
  expect(cookie).toContain('HttpOnly')
  expect(cookie).toContain('SameSite=Lax')
  const back = await goThere(start.headers.get('location'))

  const lured = await openBrowser(gateway.gateway.url).request('GET', back)
  expect(lured.status).toBe(302)
  expect(lured.headers.get('location')).toBe('/#sign-in-failed=not_begun')
  expect(lured.headers.get('set-cookie')).toBeNull()

  const finished = await browser.request('GET', back)
  expect(finished.status).toBe(200)
  expect(finished.headers.get('set-cookie')).toContain('SameSite=Strict')
  const { member } = await browser.json('GET', 'session')
  expect(member).toMatchObject({ email: 'one@example.org' })
})

test('a person who is not a member is sent back to the page with the reason', async () => {
  provider.person = { sub: 'subject-2', email: 'stranger@example.org', email_verified: true }
  const browser = openBrowser(gateway.gateway.url)
  const start = await browser.request('GET', 'oidc/start')
  const refused = await browser.request('GET', await goThere(start.headers.get('location')))
  expect(refused.headers.get('location')).toBe('/#sign-in-failed=not_member')
  expect(refused.headers.get('set-cookie')).toBeNull()
})

test('parameters that a provider adds are ignored', async () => {
  provider.person = { sub: 'subject-1', email: 'one@example.org', email_verified: true }
  const browser = openBrowser(gateway.gateway.url)
  const start = await browser.request('GET', 'oidc/start')
  const back = await goThere(start.headers.get('location'))
  const added = 'authuser=0&prompt=none&hd=example.org&scope=openid%20email&session_state=x'
  expect((await browser.request('GET', `${back}&${added}`)).status).toBe(200)
})

test("a provider's refusal leads back to the page, whatever its text", async () => {
  const browser = openBrowser(gateway.gateway.url)
  const start = await browser.request('GET', 'oidc/start')
  const state = new URL(start.headers.get('location') ?? '').searchParams.get('state') ?? ''
  const query = new URLSearchParams({
    ...{ state, error: 'access_denied', error_uri: 'https://provider.test/denied' },
    error_description: `AADSTS65004: declined\r\nTrace: ${'x'.repeat(1500)}`,
  })
  const refused = await browser.request('GET', `oidc/callback?${query}`)
  expect(refused.status).toBe(302)
  expect(refused.headers.get('location')).toBe('/#sign-in-failed=not_confirmed')
})

test('an unreachable provider is named in the log, and on the page', async () => {
  const away = await startTestGateway({
    args: [
      ['--publicUrl', 'http://portal.test'],
      ['--oidcIssuer', 'http://127.0.0.1:9'],
      ['--oidcClientId', 'gateway'],
      ['--oidcClientSecret', 'secret'],
    ].flat(),
  })
  const start = await openBrowser(away.gateway.url).request('GET', 'oidc/start')
  expect(start.headers.get('location')).toBe('/#sign-in-failed=unreachable')
  expect(away.logLines.join('')).toContain('identity provider is unusable')
  await away.stop()
})

test('without a provider, a sign-in cannot be started', async () => {
  const without = await startTestGateway({ args: ['--publicUrl', 'http://portal.test'] })
  const start = await openBrowser(without.gateway.url).request('GET', 'oidc/start')
  expect(start.status).toBe(404)
  expect(await start.json()).toMatchObject({
    error: { message: 'no identity provider is configured' },
  })
  await without.stop()
})
