/** Signs people in through an identity provider (OpenID Connect, code flow with PKCE). */
import { ApiError } from '@privatemode/protocol/api'
import { adminBase } from '@privatemode/protocol/fleet'
import { describeError, type Log, type Secret } from '@privatemode/service'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  type IDToken,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import { domainOf, looksLikeAnother } from '../accounts/email-domains.ts'
import type { Database, Row } from '../state/database.ts'
import { hashToken } from './token.ts'

export type OidcSettings = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Secret
  readonly publicUrl: string
}

export type OidcSignIn = {
  /** Where to send the browser, and the state it must bring back along with the provider's answer. */
  begin(
    database: Database,
    network: string,
  ): Promise<{ readonly url: string; readonly state: string }>
  /** The member for an answer of the identity provider, given the whole callback URL. */
  finish(database: Database, callback: URL, begunState: string | undefined): Promise<string>
}

const requestMinutes = 10
const maxBegunPerNetwork = 50
const maxBegun = 5_000
const maxEmailLength = 254

/** Why a sign-in failed; the page has a text for each. */
export type OidcFailure = 'not_begun' | 'not_confirmed' | 'not_member' | 'unreachable'

export class OidcError extends ApiError {
  readonly failure: OidcFailure
  /** The address named by the identity provider, for the audit log. */
  readonly email: string | undefined

  constructor(
    failure: OidcFailure,
    message: string,
    { email, ...options }: ErrorOptions & { readonly email?: string | undefined } = {},
  ) {
    const unreachable = failure === 'unreachable'
    const code = unreachable ? 'upstream_error' : 'permission_denied'
    super(code, message, { status: unreachable ? 502 : 401, ...options })
    this.failure = failure
    this.email = email
  }
}

/** The provider's configuration is fetched at the first sign-in, and again after a failure. */
export function oidcSignIn(settings: OidcSettings, log: Log): OidcSignIn {
  const redirectUri = `${settings.publicUrl}${adminBase}/oidc/callback`
  let configuration: Promise<Configuration> | undefined
  const configured = () => {
    configuration ??= discover(settings).catch((cause: unknown) => {
      configuration = undefined
      log.warn('identity provider is unusable', describeError(cause))
      throw new OidcError('unreachable', 'the identity provider cannot be reached', { cause })
    })
    return configuration
  }
  return {
    async begin(database, network) {
      const config = await configured()
      const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()]
      await makeRoom(database, network)
      await database.query(
        `insert into oidc_requests (state_hash, nonce, code_verifier, network, expires_at)
         values ($1, $2, $3, $4, now() + make_interval(mins => ${requestMinutes}))`,
        [hashToken(state), nonce, verifier, network],
      )
      const url = buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, state }
    },
    async finish(database, callback, begunState) {
      const state = callback.searchParams.get('state') ?? ''
      // RFC 9700, 4.7.1: without this check, a victim given the answer of a sign-in begun in another
      // browser would end up in the attacker's account.
      if (state !== begunState) throw notBegun()
      // Deleted before use, so that an answer works only once.
      const [open] = await database.query<{ nonce: string; code_verifier: string } & Row>(
        `delete from oidc_requests where state_hash = $1 and expires_at > now()
         returning nonce, code_verifier`,
        [hashToken(state)],
      )
      if (open === undefined) throw notBegun()
      const claims = await readClaims(await configured(), callback, state, open).catch(
        (error: unknown) => {
          // Only the code: the provider's answer is about a person.
          log.warn('OIDC sign-in failed', codeOf(error))
          throw error
        },
      )
      return findByClaims(database, settings.issuer, claims)
    },
  }
}

/** Anyone can begin: a network's oldest request makes way for its next, and the total is bounded. */
async function makeRoom(database: Database, network: string): Promise<void> {
  await database.query('delete from oidc_requests where expires_at < now()')
  await database.query(
    `delete from oidc_requests where network = $1 and state_hash in (
       select state_hash from oidc_requests where network = $1
       order by created_at desc offset ${maxBegunPerNetwork - 1})`,
    [network],
  )
  const [row] = await database.query<{ count: number } & Row>(
    'select count(*) as count from oidc_requests',
  )
  if ((row?.count ?? 0) < maxBegun) return
  const message = 'too many people are signing in at once; try again in a moment'
  throw new ApiError('overloaded', message, { retryAfterSeconds: 5 })
}

type Claims = { readonly subject: string; readonly verifiedEmail: string | undefined }

async function readClaims(
  config: Configuration,
  callback: URL,
  state: string,
  open: { nonce: string; code_verifier: string },
): Promise<Claims> {
  try {
    const tokens = await authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: open.code_verifier,
      expectedNonce: open.nonce,
      expectedState: state,
      idTokenExpected: true,
    })
    // Such a grant has claims with a string subject, or has thrown.
    const { sub, email, email_verified } = tokens.claims() as IDToken
    const verified = email_verified === true && typeof email === 'string'
    const isGood = verified && email.length <= maxEmailLength && !looksLikeAnother(email)
    return { subject: sub, verifiedEmail: isGood ? email : undefined }
  } catch (cause) {
    throw new OidcError('not_confirmed', 'the identity provider did not confirm the sign-in', {
      cause,
    })
  }
}

/**
 * Identified by the provider's subject; the first time by an address that the provider has
 * verified. Any account can have a member under any address, so only two accounts count: the one
 * that owns the domain, or otherwise the one that operates the deployment.
 */
async function findByClaims(database: Database, issuer: string, claims: Claims): Promise<string> {
  const subject = `${issuer} ${claims.subject}`
  const [known] = await database.query<{ id: string } & Row>(
    `select m.id from members m join accounts a on a.id = m.account_id
     where m.oidc_subject = $1 and m.disabled_at is null and a.disabled_at is null`,
    [subject],
  )
  if (known !== undefined) return known.id
  const [invited] = await database.query<{ id: string } & Row>(
    `update members m set oidc_subject = $1 from accounts a
     where a.id = m.account_id and a.disabled_at is null and lower(m.email) = lower($2)
       and m.oidc_subject is null and m.disabled_at is null
       and case when exists (select 1 from account_domains d where d.domain = lower($3))
         then exists (select 1 from account_domains d
           where d.domain = lower($3) and d.account_id = m.account_id)
         else a.operates end
     returning m.id`,
    [subject, claims.verifiedEmail ?? '', domainOf(claims.verifiedEmail ?? '')],
  )
  if (invited === undefined) {
    throw new OidcError('not_member', 'nobody with this identity is a member here', {
      email: claims.verifiedEmail,
    })
  }
  return invited.id
}

function discover(settings: OidcSettings): Promise<Configuration> {
  const issuer = new URL(settings.issuer)
  const loopback = issuer.protocol === 'http:' && issuer.hostname === '127.0.0.1'
  return discovery(issuer, settings.clientId, settings.clientSecret.reveal(), undefined, {
    timeout: 10,
    // Signatures are checked even where TLS would suffice (OpenID Connect Core, 3.1.3.7), and only a
    // provider on this machine may do without TLS.
    execute: loopback
      ? [enableNonRepudiationChecks, allowInsecureRequests]
      : [enableNonRepudiationChecks],
  })
}

function codeOf(error: unknown): { code: string } {
  const cause = error instanceof OidcError ? (error.cause ?? error) : error
  return { code: describeError(cause).code }
}

function notBegun(): OidcError {
  return new OidcError('not_begun', 'this sign-in was not begun here, or too long ago')
}
