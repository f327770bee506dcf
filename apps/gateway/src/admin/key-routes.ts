/** `/privatemode/v1/admin/keys`: API keys for whoever may administer them. */
import { ApiError } from '@privatemode/protocol/api'
import { readJson } from '../http/read-json.ts'
import {
  type ApiKey,
  changeKey,
  createKey,
  findKey,
  type IssuedKey,
  listKeys,
  revokeKey,
  rotateKey,
} from '../keys/key-store.ts'
import { formatLimits, parseLimits } from '../keys/limits.ts'
import type { Database } from '../state/database.ts'

export const defaultAccountId = 'acct_default'
const maxBodyBytes = 16 * 1024
const maxOverlapSeconds = 30 * 86_400

type Body = { readonly [field: string]: unknown }

/** `rest` is what follows `/keys/`: empty, an id, or an id and an action. */
export async function answerKeys(
  request: Request,
  rest: string,
  database: Database,
): Promise<Response> {
  const [id, action, ...more] = rest.split('/')
  if (more.length > 0) throw new ApiError('not_found', 'no such page')
  if (id === undefined || id === '') return answerCollection(request, database)
  if (action === 'rotate' && request.method === 'POST') {
    const body = await readBody(request)
    const overlap = parseOverlap(body.overlap_seconds)
    return Response.json(formatIssued(await rotateKey(database, id, overlap)))
  }
  if (action !== undefined) throw new ApiError('not_found', 'no such action on a key')
  switch (request.method) {
    case 'GET':
      return Response.json(formatKey(await findKey(database, id)))
    case 'DELETE':
      return Response.json(formatKey(await revokeKey(database, id)))
    case 'PATCH':
      return Response.json(
        formatKey(await changeKey(database, id, parseChange(await readBody(request)))),
      )
  }
  throw new ApiError('method_not_allowed', 'a key can be read, changed, rotated and revoked')
}

async function answerCollection(request: Request, database: Database): Promise<Response> {
  switch (request.method) {
    case 'GET': {
      const account = new URL(request.url).searchParams.get('account') ?? undefined
      return Response.json({ keys: (await listKeys(database, account)).map(formatKey) })
    }
    case 'POST': {
      const body = await readBody(request)
      const issued = await createKey(database, {
        accountId: parseAccount(body.account_id),
        name: parseName(body.name),
        expiresAt: parseExpiry(body.expires_at),
        limits: parseLimits(body.limits),
      })
      return Response.json(formatIssued(issued), { status: 201 })
    }
  }
  throw new ApiError('method_not_allowed', 'keys can be listed and created')
}

export function formatKey(key: ApiKey): Record<string, unknown> {
  return {
    id: key.id,
    account_id: key.accountId,
    name: key.name,
    prefix: key.prefix,
    created_at: key.createdAt.toISOString(),
    rotated_at: key.rotatedAt?.toISOString() ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    limits: formatLimits(key.limits),
  }
}

const formatIssued = ({ key, secret }: IssuedKey) => ({ ...formatKey(key), secret })

async function readBody(request: Request): Promise<Body> {
  const value = await readJson(request, maxBodyBytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiError('invalid_value', 'the body must be a JSON object')
  }
  return value as Body
}

function parseChange(body: Body) {
  return {
    ...(body.name === undefined ? {} : { name: parseName(body.name) }),
    ...(body.expires_at === undefined ? {} : { expiresAt: parseExpiry(body.expires_at) }),
    ...(body.limits === undefined ? {} : { limits: parseLimits(body.limits) }),
  }
}

function parseName(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 100) return value.trim()
  throw refuse('name', 'text of 1 to 100 characters')
}

function parseAccount(value: unknown): string {
  if (value === undefined || value === null) return defaultAccountId
  if (typeof value === 'string' && value.length <= 64) return value
  throw refuse('account_id', 'the id of an account')
}

function parseExpiry(value: unknown): Date | null {
  if (value === undefined || value === null) return null
  const date = typeof value === 'string' ? new Date(value) : new Date(Number.NaN)
  if (!Number.isNaN(date.getTime())) return date
  throw refuse('expires_at', 'a time such as 2030-01-31T00:00:00Z')
}

function parseOverlap(value: unknown): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'number' && value >= 0 && value <= maxOverlapSeconds) return value
  throw refuse('overlap_seconds', `a number from 0 to ${maxOverlapSeconds}`)
}

function refuse(param: string, expected: string): ApiError {
  return new ApiError('invalid_value', `${param} must be ${expected}`, { param })
}
