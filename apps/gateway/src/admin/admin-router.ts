/** Routes an admin request: finds its route, authenticates the caller, validates the input. */
import { ApiError } from '@privatemode/protocol/api'
import { bearerOf } from '../http/bearer.ts'
import { readJson } from '../http/read-json.ts'
import { checkCsrfToken, findSession } from '../members/session-store.ts'
import type { CheckToken } from '../tokens/token-check.ts'
import type { Actor } from './actor.ts'
import type { AdminParts, AdminRoute } from './admin-route.ts'
import { adminRoutes } from './admin-routes.ts'
import { parseFieldTable } from './fields.ts'
import { sessionTokenOf } from './session-cookie.ts'

const maxBodyBytes = 64 * 1024

/** `path` is the part after `/privatemode/v1/admin`. */
export async function answerAdmin(
  request: Request,
  path: string,
  address: string,
  parts: AdminParts,
  checkAdmin: CheckToken,
): Promise<Response> {
  const { route, params } = findAdminRoute(request.method, path)
  const query = parseFieldTable(
    route.query,
    Object.fromEntries(new URL(request.url).searchParams),
  ) as never
  const body = (
    route.body === undefined
      ? {}
      : parseFieldTable(route.body, await readJson(request, maxBodyBytes))
  ) as never
  const call = { parts, request, address, params, query, body }
  switch (route.access) {
    case 'anyone':
      checkOrigin(request, parts.publicUrl)
      return respond(route, await route.handle({ ...call, actor: undefined }))
    case 'signed_in': {
      const actor = await findActor(request, parts, checkAdmin)
      const handle = () => route.handle({ ...call, actor })
      // The operator's token is trusted with the whole deployment.
      const answer = await (actor.kind === 'operator'
        ? handle()
        : parts.atOnce.run(actor.session.member.id, handle))
      if (request.method !== 'GET') parts.forgetKeys()
      return respond(route, answer)
    }
  }
}

function respond({ status }: AdminRoute, answer: unknown): Response {
  return answer instanceof Response ? answer : Response.json(answer, { status })
}

type Found = { readonly route: AdminRoute; readonly params: Record<string, string> }

export function findAdminRoute(method: string, path: string): Found {
  const allowed: string[] = []
  for (const route of adminRoutes) {
    const params = matchPath(route.path, path)
    if (params === undefined) continue
    if (route.method === method) return { route, params }
    allowed.push(route.method)
  }
  if (allowed.length === 0) throw new ApiError('not_found', 'not found')
  throw new ApiError('method_not_allowed', `this path accepts ${allowed.join(', ')}`)
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? ''
    if (segment.startsWith('{')) {
      if (!/^[A-Za-z0-9_-]{1,128}$/.test(value)) return undefined
      params[segment.slice(1, -1)] = value
    } else if (segment !== value) return undefined
  }
  return params
}

/** The operator by token, or a person by cookie; changes by cookie also need the page's CSRF token. */
async function findActor(
  request: Request,
  parts: AdminParts,
  checkAdmin: CheckToken,
): Promise<Actor> {
  const bearer = bearerOf(request.headers.get('authorization'))
  if (bearer !== undefined) {
    checkAdmin(bearer)
    return { kind: 'operator' }
  }
  const token = sessionTokenOf(request, parts.publicUrl)
  const session = token === undefined ? undefined : await findSession(parts.database, token)
  if (session === undefined) {
    throw new ApiError('permission_denied', 'sign in first', { status: 401 })
  }
  if (request.method !== 'GET') {
    checkOrigin(request, parts.publicUrl)
    checkCsrfToken(session.token, request.headers.get('x-csrf-token'))
  }
  return { kind: 'member', session }
}

/** Browsers send the origin of the page that makes a request; pages of other sites are refused. */
function checkOrigin(request: Request, publicUrl: string): void {
  const origin = request.headers.get('origin')
  if (request.method === 'GET' || origin === null) return
  const own = new URL(publicUrl).origin
  if (origin === own || isSameHost(origin, request.headers.get('host'))) return
  throw new ApiError('permission_denied', 'the request comes from another site')
}

/** A gateway reachable under several names is same-origin under each of them. */
function isSameHost(origin: string, host: string | null): boolean {
  const url = URL.parse(origin)
  return url !== null && host !== null && url.host === host
}
