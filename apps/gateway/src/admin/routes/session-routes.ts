/** Signing in and out. */
import { ApiError } from '@privatemode/protocol/api'
import {
  adminBase,
  adminSchemas,
  type SessionAnswer as WireSessionAnswer,
} from '@privatemode/protocol/fleet'
import { recordEvent, recordStranger } from '../../audit/audit-log.ts'
import { networkOf } from '../../http/client-address.ts'
import { acceptInvitation } from '../../members/invitations.ts'
import { findMember, type Member, setPassword } from '../../members/member-store.ts'
import { OidcError } from '../../members/oidc.ts'
import { checkPassword, enterHashing, hashPassword } from '../../members/password.ts'
import {
  beginSession,
  csrfTokenOf,
  endSession,
  type NewSession,
  type Session,
} from '../../members/session-store.ts'
import { confirmPassword, type SignedIn, signIn } from '../../members/sign-in.ts'
import {
  type AdminCall,
  type AdminParts,
  type AdminRoute,
  openRoute,
  route,
} from '../admin-route.ts'
import { email, foreignText, optional, others, secret, text } from '../fields.ts'
import { memberActor, recorded } from '../recorded.ts'
import {
  browserTokenOf,
  formatBrowserCookie,
  formatEndedCookie,
  formatOidcCookie,
  formatSessionCookie,
  oidcStateOf,
} from '../session-cookie.ts'
import { aboutInvitation } from './invitation-routes.ts'
import { aboutMember, formatMember } from './member-routes.ts'

const { Session: session } = adminSchemas

export const sessionRoutes: readonly AdminRoute[] = [
  openRoute('GET /sign-in', {
    summary: 'List the available ways to sign in',
    answer: adminSchemas.SignInWays,
    handle: async ({ parts }) => ({ oidc: parts.oidc !== undefined }),
  }),
  openRoute('POST /session', {
    summary: 'Sign in with a password; the session is in a cookie',
    body: { email: email(), password: secret(256) },
    answer: session,
    async handle(call) {
      const { parts, body, address, request } = call
      const browserToken = browserTokenOf(request, parts.publicUrl)
      const signedIn = await signIn(parts.database, { ...body, address, browserToken })
      return answerSession(await enter(call, signedIn, { with: 'password' }), parts)
    },
  }),
  openRoute('POST /invitations/accept', {
    summary: 'Use a one-time link: set a password, and become a member',
    body: {
      token: text(43, 43),
      email: optional(email()),
      name: optional(text(1, 100)),
      password: secret(256),
    },
    answer: session,
    async handle({ parts, body, address }) {
      const { member, passwordHash } = await acceptInvitation(parts.database, body, {
        accepted(queries, { member: joined, invitation }) {
          const action = invitation.memberId === null ? 'invitation.accepted' : 'password.reset'
          const who = { actor: memberActor(joined), address }
          const { id, createdBy } = invitation
          const details = { invitation_id: id, invited_by: createdBy ?? 'operator' }
          return recordEvent(queries, action, who, aboutMember(joined, details))
        },
        refused: (invitation) =>
          recordStranger(
            parts.database,
            'invitation.refused',
            networkOf(address),
            aboutInvitation(invitation),
          ),
      })
      const begun = await parts.database.transaction((queries) =>
        beginSession(queries, member, { passwordHash }),
      )
      return answerSession(begun, parts)
    },
  }),
  route('GET /session', {
    summary: 'Return the signed-in member and the CSRF token that changes need',
    answer: adminSchemas.OwnSession,
    async handle({ actor }) {
      if (actor.kind === 'operator') return { operator: true }
      return formatSession(actor.session)
    },
  }),
  route('DELETE /session', {
    summary: 'Sign out',
    async handle({ parts, actor }) {
      if (actor.kind === 'member') await endSession(parts.database, actor.session.token)
      return Response.json(
        { signed_out: true },
        { headers: { 'set-cookie': formatEndedCookie(parts.publicUrl) } },
      )
    },
  }),
  route('PUT /session/password', {
    summary: 'Change your password; your other sessions end',
    body: { old_password: secret(256), new_password: secret(256) },
    answer: session,
    async handle(call) {
      const { parts, actor, body, address } = call
      if (actor.kind === 'operator') {
        throw new ApiError('invalid_value', 'the admin token has no password')
      }
      const { member } = actor.session
      checkPassword(body.new_password)
      const old = await confirmPassword(parts.database, member, {
        password: body.old_password,
        address,
      })
      const passwordHash = await hashOwn(member, body.new_password)
      const begun = await recorded(call, 'password.changed', async (queries) => {
        await setPassword(queries, member.id, passwordHash, old.passwordHash)
        const value = await beginSession(queries, member, { passwordHash })
        return { value, about: aboutMember(member) }
      })
      return answerSession(begun, parts)
    },
  }),
  openRoute('GET /oidc/start', {
    summary: 'Redirect to the identity provider',
    status: 302,
    handle: ({ parts, address }) =>
      orBackToSignIn(async () => {
        const { url, state } = await oidcOf(parts).begin(parts.database, networkOf(address))
        const cookie = formatOidcCookie(state, parts.publicUrl)
        return redirect(url, { 'set-cookie': cookie })
      }),
  }),
  openRoute('GET /oidc/callback', {
    summary: 'Return from the identity provider',
    status: 302,
    // Providers add parameters, which must be ignored (RFC 6749, 4.1.2), and line breaks in texts.
    query: {
      code: optional(foreignText()),
      state: optional(foreignText()),
      iss: optional(foreignText()),
      error: optional(foreignText()),
      error_description: optional(foreignText()),
      [others]: 'ignored',
    },
    handle: (call) =>
      orBackToSignIn(async () => {
        const { parts, request, address } = call
        const { search } = new URL(request.url)
        const callback = new URL(`${adminBase}/oidc/callback${search}`, parts.publicUrl)
        const begunState = oidcStateOf(request, parts.publicUrl)
        const memberId = await oidcOf(parts)
          .finish(parts.database, callback, begunState)
          .catch((error: unknown) => recordRefusal(parts, address, error))
        const member = await findMember(parts.database, memberId)
        const begun = await enter(call, { member }, { with: 'identity provider' })
        // Not a redirect: a SameSite=Strict cookie is not sent on one that started at another site.
        const page = '<!doctype html><meta http-equiv="refresh" content="0;url=/">'
        const headers = { 'content-type': 'text/html; charset=utf-8' }
        return withCookies(new Response(page, { headers }), begun, parts)
      }),
  }),
]

/** Starts a session and records it in the audit log. */
function enter(
  {
    parts,
    address,
    request,
  }: Pick<AdminCall<never, never, never>, 'parts' | 'address' | 'request'>,
  { member, passwordHash }: Pick<SignedIn, 'member'> & Partial<SignedIn>,
  details: Record<string, unknown>,
): Promise<NewSession> {
  const browserToken = browserTokenOf(request, parts.publicUrl)
  return parts.database.transaction(async (queries) => {
    const who = { actor: memberActor(member), address }
    await recordEvent(queries, 'sign_in.succeeded', who, aboutMember(member, details))
    return beginSession(queries, member, { browserToken, passwordHash })
  })
}

/** Records why a sign-in through the identity provider was refused. */
async function recordRefusal(parts: AdminParts, address: string, error: unknown): Promise<never> {
  if (error instanceof OidcError && error.failure !== 'not_begun') {
    await recordStranger(parts.database, 'sign_in.failed', networkOf(address), {
      accountId: null,
      id: null,
      name: error.email ?? 'unknown',
      details: { with: 'identity provider', reason: error.failure },
    })
  }
  throw error
}

/** This request comes from a browser: the sign-in page explains the refusal. */
async function orBackToSignIn(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof OidcError)) throw error
    return redirect(`/#sign-in-failed=${error.failure}`)
  }
}

function redirect(location: string, headers: Record<string, string> = {}): Response {
  return new Response(null, { status: 302, headers: { location, ...headers } })
}

function oidcOf(parts: AdminParts) {
  if (parts.oidc !== undefined) return parts.oidc
  throw new ApiError('not_found', 'no identity provider is configured')
}

async function hashOwn(member: Member, password: string): Promise<string> {
  const turn = enterHashing({ name: `member ${member.id}`, isKnown: true })
  try {
    return await hashPassword(password, turn)
  } finally {
    turn.end()
  }
}

function answerSession(begun: NewSession, parts: AdminParts): Response {
  return withCookies(Response.json(formatSession(begun)), begun, parts)
}

function withCookies(response: Response, begun: NewSession, { publicUrl }: AdminParts): Response {
  response.headers.append('set-cookie', formatSessionCookie(begun.token, publicUrl))
  response.headers.append('set-cookie', formatBrowserCookie(begun.browserToken, publicUrl))
  return response
}

function formatSession(found: Session): WireSessionAnswer {
  return { member: formatMember(found.member), csrf_token: csrfTokenOf(found.token) }
}
