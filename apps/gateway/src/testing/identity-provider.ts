/** A small OpenID Connect provider for tests: real signatures, scripted people. */
export type IdentityProvider = {
  readonly issuer: string
  /** Claims of the next person to sign in. */
  person: Record<string, unknown>
  /** What the provider gets wrong next, which the gateway must notice. */
  lie: 'none' | 'nonce' | 'issuer' | 'signature' | 'audience' | 'expired'
  stop(): Promise<void>
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export async function identityProvider(): Promise<IdentityProvider> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const pair = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const other = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const jwk = {
    ...(await crypto.subtle.exportKey('jwk', pair.publicKey)),
    kid: 'one',
    alg: 'ES256',
  }
  const codes = new Map<string, { nonce: string; challenge: string }>()

  async function idToken(nonce: string): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: provider.lie === 'issuer' ? 'https://evil.example' : provider.issuer,
      aud: provider.lie === 'audience' ? 'someone-else' : 'gateway',
      nonce: provider.lie === 'nonce' ? 'other' : nonce,
      iat: now,
      exp: provider.lie === 'expired' ? now - 3600 : now + 60,
      ...provider.person,
    }
    const body = `${json({ alg: 'ES256', kid: 'one', typ: 'JWT' })}.${json(claims)}`
    const key = provider.lie === 'signature' ? other.privateKey : pair.privateKey
    const bytes = new TextEncoder().encode(body)
    const signed = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, bytes)
    return `${body}.${Buffer.from(signed).toString('base64url')}`
  }

  async function answerToken(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    const open = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const verifier = new TextEncoder().encode(form.get('code_verifier') ?? '')
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', verifier))
    if (open === undefined || digest.toString('base64url') !== open.challenge) {
      return Response.json({ error: 'invalid_grant' }, { status: 400 })
    }
    const id_token = await idToken(open.nonce)
    return Response.json({ access_token: 'access', token_type: 'bearer', expires_in: 60, id_token })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const url = new URL(request.url)
      switch (url.pathname) {
        case '/.well-known/openid-configuration':
          return Response.json({
            issuer: provider.issuer,
            authorization_endpoint: `${provider.issuer}/authorize`,
            token_endpoint: `${provider.issuer}/token`,
            jwks_uri: `${provider.issuer}/keys`,
            response_types_supported: ['code'],
            id_token_signing_alg_values_supported: ['ES256'],
          })
        case '/keys':
          return Response.json({ keys: [jwk] })
        case '/authorize': {
          const code = crypto.randomUUID()
          codes.set(code, {
            nonce: url.searchParams.get('nonce') ?? '',
            challenge: url.searchParams.get('code_challenge') ?? '',
          })
          const back = new URL(url.searchParams.get('redirect_uri') ?? '')
          back.searchParams.set('code', code)
          back.searchParams.set('state', url.searchParams.get('state') ?? '')
          return Response.redirect(back.href, 302)
        }
        case '/token':
          return answerToken(request)
      }
      return new Response(null, { status: 404 })
    },
  })
  const provider: IdentityProvider = {
    issuer: `http://127.0.0.1:${server.port}`,
    person: {},
    lie: 'none',
    stop: () => server.stop(true),
  }
  return provider
}
