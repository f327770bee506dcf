/** Signs people in through an identity provider (OpenID Connect, code flow with PKCE). */
import { ApiError } from '@privatemode/protocol/api'
import type { Secret } from '@privatemode/service'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import type { OidcSignIn } from '../admin/admin-route.ts'
import type { Database, Row } from '../state/database.ts'
import { hashToken } from './token.ts'

export type OidcSettings = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Secret
  readonly publicUrl: string
}

const requestMinutes = 10

/** The provider is asked for its configuration at the first sign-in, and again after a failure. */
export function oidcSignIn(settings: OidcSettings): OidcSignIn {
  const redirectUri = `${settings.publicUrl}/privatemode/v1/admin/oidc/callback`
  let configuration: Promise<Configuration> | undefined
  const configured = () => {
    configuration ??= discover(settings).catch((error: unknown) => {
      configuration = undefined
      throw error
    })
    return configuration
  }
  return {
    async begin(database) {
      const config = await configured()
      const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()]
      await database.query('delete from oidc_requests where expires_at < now()')
      await database.query(
        `insert into oidc_requests (state_hash, nonce, code_verifier, expires_at)
         values ($1, $2, $3, now() + make_interval(mins => ${requestMinutes}))`,
        [hashToken(state), nonce, verifier],
      )
      const url = buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return url.href
    },
    async finish(database, callback) {
      const state = callback.searchParams.get('state') ?? ''
      // Taken out before it is used, so that an answer works once.
      const [open] = await database.query<{ nonce: string; code_verifier: string } & Row>(
        `delete from oidc_requests where state_hash = $1 and expires_at > now()
         returning nonce, code_verifier`,
        [hashToken(state)],
      )
      if (open === undefined) throw refuse('this sign-in was not begun here, or too long ago')
      const claims = await readClaims(await configured(), callback, state, open)
      return findByClaims(database, settings.issuer, claims)
    },
  }
}

type Claims = { readonly subject: string; readonly verifiedEmail: string | undefined }

async function readClaims(
  config: Configuration,
  callback: URL,
  state: string,
  open: { nonce: string; code_verifier: string },
): Promise<Claims> {
  let found: Record<string, unknown> | undefined
  try {
    const tokens = await authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: open.code_verifier,
      expectedNonce: open.nonce,
      expectedState: state,
      idTokenExpected: true,
    })
    found = tokens.claims()
  } catch (cause) {
    throw new ApiError('permission_denied', 'the identity provider did not confirm the sign-in', {
      status: 401,
      cause,
    })
  }
  if (typeof found?.sub !== 'string') throw refuse('the identity provider names nobody')
  const verified = found.email_verified === true && typeof found.email === 'string'
  return { subject: found.sub, verifiedEmail: verified ? String(found.email) : undefined }
}

/** Known by the provider's subject; the first time by an address that the provider has verified. */
async function findByClaims(database: Database, issuer: string, claims: Claims): Promise<string> {
  const subject = `${issuer} ${claims.subject}`
  const [known] = await database.query<{ id: string } & Row>(
    'select id from members where oidc_subject = $1 and disabled_at is null',
    [subject],
  )
  if (known !== undefined) return known.id
  const [invited] = await database.query<{ id: string } & Row>(
    `update members set oidc_subject = $1
     where lower(email) = lower($2) and oidc_subject is null and disabled_at is null returning id`,
    [subject, claims.verifiedEmail ?? ''],
  )
  if (invited === undefined) throw refuse('nobody with this identity is a member here')
  return invited.id
}

function discover(settings: OidcSettings): Promise<Configuration> {
  const issuer = new URL(settings.issuer)
  const loopback = issuer.protocol === 'http:' && issuer.hostname === '127.0.0.1'
  return discovery(issuer, settings.clientId, settings.clientSecret.reveal(), undefined, {
    timeout: 10,
    // Signatures are checked even where the transport would do (OpenID Connect Core, 3.1.3.7), and
    // only a provider on this very machine may go without TLS.
    execute: loopback
      ? [enableNonRepudiationChecks, allowInsecureRequests]
      : [enableNonRepudiationChecks],
  })
}

function refuse(message: string): ApiError {
  return new ApiError('permission_denied', message, { status: 401 })
}
