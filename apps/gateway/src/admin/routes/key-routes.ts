/** API keys. */
import { ApiError } from '@privatemode/protocol/api'
import { adminSchemas, type Key as WireKey } from '@privatemode/protocol/fleet'
import { listAccounts } from '../../accounts/account-store.ts'
import type { AuditSubject } from '../../audit/audit-log.ts'
import {
  type ApiKey,
  changeKey,
  countLiveKeys,
  createKey,
  findKey,
  type IssuedKey,
  listKeys,
  lockKey,
  revokeKey,
  rotateKey,
} from '../../keys/key-store.ts'
import { formatLimits, noLimits } from '../../keys/limits.ts'
import { memberExpiry } from '../../keys/member-expiry.ts'
import type { Queries } from '../../state/database.ts'
import { type Actor, accountOf, insist, mayAdminister, mayChangeKey, maySee } from '../actor.ts'
import { type AdminParts, type AdminRoute, route } from '../admin-route.ts'
import { limitsField, nullable, optional, text, time, wholeNumber } from '../fields.ts'
import { given, recorded } from '../recorded.ts'

const { Key: key, IssuedKey: issued } = adminSchemas

export const keyRoutes: readonly AdminRoute[] = [
  route('GET /keys', {
    summary: 'List API keys, newest first',
    query: { account: optional(text(1, 64)) },
    answer: adminSchemas.KeyList,
    async handle({ parts, actor, query }) {
      const accountId = actor.kind === 'operator' ? query.account : accountOf(actor, query.account)
      if (accountId !== undefined) insist(maySee(actor, accountId), false)
      return { keys: (await listKeys(parts.database, accountId)).map(formatKey) }
    },
  }),
  route('POST /keys', {
    summary: 'Create an API key; the secret is only shown in this answer',
    status: 201,
    body: {
      name: text(1, 100),
      account_id: nullable(text(1, 64)),
      expires_at: nullable(time()),
      limits: nullable(limitsField()),
    },
    answer: issued,
    async handle(call) {
      const { actor, body } = call
      const accountId = accountOf(actor, body.account_id)
      insist(maySee(actor, accountId), false)
      // A member who could set limits could also lift them.
      const limits = body.limits ?? noLimits
      insist(limits === noLimits || mayAdminister(actor, accountId))
      const administers = mayAdminister(actor, accountId)
      const made = await recorded(call, 'key.created', async (queries) => {
        if (actor.kind === 'member') await refuseTooManyKeys(queries, actor.session.member.id)
        const issued = await createKey(queries, {
          accountId,
          name: body.name,
          expiresAt: administers
            ? (body.expires_at ?? null)
            : await expiryFor(queries, accountId, body.expires_at),
          limits,
          createdBy: actor.kind === 'member' ? actor.session.member.id : null,
        })
        const { expires_at, limits: set } = formatKey(issued.key)
        return { value: issued, about: aboutKey(issued.key, { expires_at, limits: set }) }
      })
      return formatIssued(made)
    },
  }),
  route('GET /keys/{id}', {
    summary: 'Read one API key',
    answer: key,
    handle: async ({ parts, actor, params }) =>
      formatKey(await findVisible(parts, actor, params.id)),
  }),
  route('PATCH /keys/{id}', {
    summary: 'Change the name, expiry or limits of an API key',
    body: {
      name: optional(text(1, 100)),
      expires_at: nullable(time()),
      limits: nullable(limitsField()),
    },
    answer: key,
    async handle(call) {
      const { parts, actor, params, body } = call
      const found = await findChangeable(parts, actor, params.id)
      insist(body.limits === undefined || mayAdminister(actor, found.accountId))
      const changed = await recorded(call, 'key.changed', async (queries) => {
        const administers = mayAdminister(actor, found.accountId)
        const { expires_at: wish } = body
        const expiresAt =
          wish === undefined || administers
            ? wish
            : await expiryFor(queries, found.accountId, wish, await lockKey(queries, found.id))
        const value = await changeKey(queries, found.id, {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(expiresAt === undefined ? {} : { expiresAt, isExpiryFixed: administers }),
          ...(body.limits === undefined ? {} : { limits: body.limits ?? noLimits }),
        })
        return {
          value,
          about: aboutKey(
            found,
            given({ ...body, limits: body.limits && formatLimits(body.limits) }),
          ),
        }
      })
      return formatKey(changed)
    },
  }),
  route('POST /keys/{id}/rotate', {
    summary: 'Give an API key a new secret; the old one works during the overlap',
    body: { overlap_seconds: nullable(wholeNumber(0, 30 * 86_400)) },
    answer: issued,
    async handle(call) {
      const { parts, actor, params, body } = call
      const found = await findChangeable(parts, actor, params.id)
      const overlapSeconds = body.overlap_seconds ?? 0
      const rotated = await recorded(call, 'key.rotated', async (queries) => ({
        value: await rotateKey(queries, found.id, overlapSeconds),
        about: aboutKey(found, { overlap_seconds: overlapSeconds }),
      }))
      return formatIssued(rotated)
    },
  }),
  route('DELETE /keys/{id}', {
    summary: 'Revoke an API key; it stops working everywhere within two seconds',
    answer: key,
    async handle(call) {
      const { parts, actor, params } = call
      const found = await findChangeable(parts, actor, params.id)
      const revoked = await recorded(call, 'key.revoked', async (queries) => ({
        value: await revokeKey(queries, found.id),
        about: aboutKey(found),
      }))
      return formatKey(revoked)
    },
  }),
]

/** The expiry a member asks for, within what admins allow; `key` is locked, so that no admin changes it meanwhile. */
async function expiryFor(
  queries: Queries,
  accountId: string,
  wish: Date | null | undefined,
  key?: ApiKey,
): Promise<Date | null> {
  const [account] = await listAccounts(queries, accountId)
  return memberExpiry(wish, {
    latestExpiry: key?.latestExpiry ?? null,
    keyDays: account?.memberPolicy.keyDays ?? null,
    secretSince: key?.rotatedAt ?? key?.createdAt ?? new Date(),
    expiresAt: key?.expiresAt,
  })
}

const maxLiveKeys = 100

async function refuseTooManyKeys(queries: Queries, memberId: string): Promise<void> {
  if ((await countLiveKeys(queries, memberId)) < maxLiveKeys) return
  const message = `you have ${maxLiveKeys} active keys; revoke some first`
  throw new ApiError('invalid_value', message, { status: 409 })
}

async function findVisible(parts: AdminParts, actor: Actor, id = ''): Promise<ApiKey> {
  const found = await findKey(parts.database, id)
  insist(maySee(actor, found.accountId), false)
  return found
}

async function findChangeable(parts: AdminParts, actor: Actor, id = ''): Promise<ApiKey> {
  const found = await findVisible(parts, actor, id)
  insist(mayChangeKey(actor, found))
  return found
}

function aboutKey(found: ApiKey, details: Record<string, unknown> = {}): AuditSubject {
  return { accountId: found.accountId, id: found.id, name: found.name, details }
}

function formatKey(found: ApiKey): WireKey {
  return {
    id: found.id,
    account_id: found.accountId,
    name: found.name,
    prefix: found.prefix,
    created_by: found.createdBy,
    created_at: found.createdAt.toISOString(),
    rotated_at: found.rotatedAt?.toISOString() ?? null,
    expires_at: found.expiresAt?.toISOString() ?? null,
    latest_expiry: found.latestExpiry?.toISOString() ?? null,
    revoked_at: found.revokedAt?.toISOString() ?? null,
    last_used_at: found.lastUsedAt?.toISOString() ?? null,
    limits: formatLimits(found.limits),
  }
}

const formatIssued = ({ key: found, secret }: IssuedKey) => ({ ...formatKey(found), secret })
