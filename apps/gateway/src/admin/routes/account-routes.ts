/** Accounts and their limits, and the deployment's workers and models. */
import { ApiError } from '@privatemode/protocol/api'
import {
  adminSchemas,
  type Account as WireAccount,
  type DrainEffect as WireDrainEffect,
  type Worker as WireWorker,
} from '@privatemode/protocol/fleet'
import {
  type Account,
  changeAccount,
  createAccount,
  listAccounts,
} from '../../accounts/account-store.ts'
import type { AuditSubject } from '../../audit/audit-log.ts'
import { formatLimits, noLimits } from '../../keys/limits.ts'
import { type DrainEffect, judgeDrain, requestDrain } from '../../registry/worker-store.ts'
import { accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminRoute, type AdminWorker, route } from '../admin-route.ts'
import { domainList, flag, limitsField, nullable, optional, text, wholeNumber } from '../fields.ts'
import { given, recorded } from '../recorded.ts'

const { Account: account, DrainEffect: drainEffect } = adminSchemas

export const accountRoutes: readonly AdminRoute[] = [
  route('GET /accounts', {
    summary: 'List accounts: all of them for operators, their own for others',
    answer: adminSchemas.AccountList,
    async handle({ parts, actor }) {
      const only = mayOperate(actor) ? undefined : accountOf(actor, undefined)
      const accounts = await listAccounts(parts.database, only)
      return { accounts: accounts.map(formatAccount) }
    },
  }),
  route('POST /accounts', {
    summary: 'Create an account',
    status: 201,
    body: { name: text(1, 100), limits: nullable(limitsField()) },
    answer: account,
    async handle(call) {
      const { actor, body } = call
      insist(mayOperate(actor))
      const made = await recorded(call, 'account.created', async (queries) => {
        const value = await createAccount(queries, body.name, body.limits ?? noLimits)
        return { value, about: aboutAccount(value, { limits: formatLimits(value.limits) }) }
      })
      return formatAccount(made)
    },
  }),
  route('PATCH /accounts/{id}', {
    summary: 'Rename, limit, disable or enable an account; its admins set limits for its members',
    body: {
      name: optional(text(1, 100)),
      disabled: optional(flag()),
      limits: nullable(limitsField()),
      member_limits: nullable(limitsField()),
      member_key_days: nullable(wholeNumber(1, 3650)),
      email_domains: optional(domainList(100)),
    },
    answer: account,
    async handle(call) {
      const { actor, params, body } = call
      const { id = '' } = params
      const isOperators =
        body.name !== undefined ||
        body.disabled !== undefined ||
        body.limits !== undefined ||
        body.email_domains !== undefined
      insist(
        isOperators ? mayOperate(actor) : mayAdminister(actor, id),
        maySee(actor, id) || isOperators,
      )
      if (body.disabled === true && actor.kind === 'member') {
        const own = actor.session.member.accountId
        if (own === id) throw new ApiError('invalid_value', 'you cannot disable your own account')
      }
      const changed = await recorded(call, 'account.changed', async (queries) => {
        const value = await changeAccount(queries, id, {
          name: body.name,
          disabled: body.disabled,
          limits: body.limits === null ? noLimits : body.limits,
          memberLimits: body.member_limits === null ? noLimits : body.member_limits,
          memberKeyDays: body.member_key_days,
          emailDomains: body.email_domains,
        })
        return {
          value,
          about: aboutAccount(
            value,
            given({
              ...body,
              limits: body.limits && formatLimits(body.limits),
              member_limits: body.member_limits && formatLimits(body.member_limits),
            }),
          ),
        }
      })
      return formatAccount(changed)
    },
  }),
  route('GET /workers', {
    summary: 'List the workers that are alive',
    answer: adminSchemas.WorkerList,
    async handle({ parts, actor }) {
      insist(mayOperate(actor))
      return { workers: parts.workers().map(formatWorker) }
    },
  }),
  route('GET /workers/{id}/drain', {
    summary: 'Preview the effect of draining a worker',
    answer: drainEffect,
    async handle({ parts, actor, params }) {
      insist(mayOperate(actor))
      return formatEffect(await judgeDrain(parts.database, params.id ?? ''))
    },
  }),
  route('POST /workers/{id}/drain', {
    summary:
      'Send a worker no more requests; running ones continue. Refused if a model would be left without a worker, unless override is true',
    body: { override: optional(flag()) },
    answer: drainEffect,
    async handle(call) {
      const { parts, actor, params, body } = call
      insist(mayOperate(actor))
      const { id = '' } = params
      const effect = await recorded(call, 'worker.drained', async (queries) => {
        const value = await judgeDrain(queries, id)
        if (value.unservedModels.length > 0 && body.override !== true) throw refuseDrain(id, value)
        await requestDrain(queries, id, true)
        const about = { accountId: null, id, name: id, details: formatEffect(value) }
        return { value, about }
      })
      await parts.refreshWorkers()
      return formatEffect(effect)
    },
  }),
  route('DELETE /workers/{id}/drain', {
    summary: 'Resume sending requests to a worker',
    answer: adminSchemas.DrainState,
    async handle(call) {
      const { parts, actor, params } = call
      insist(mayOperate(actor))
      const { id = '' } = params
      await recorded(call, 'worker.undrained', async (queries) => {
        const found = await requestDrain(queries, id, false)
        if (!found) throw new ApiError('not_found', 'there is no such worker')
        return { value: undefined, about: { accountId: null, id, name: id } }
      })
      await parts.refreshWorkers()
      return { draining: false }
    },
  }),
  route('GET /models', {
    summary: 'List the models that workers serve',
    answer: adminSchemas.ModelList,
    async handle({ parts }) {
      const models = new Map(
        parts.workers().flatMap((each) => each.models.map((model) => [model.id, model] as const)),
      )
      const count = (id: string) =>
        parts.workers().filter((each) => each.models.some((model) => model.id === id)).length
      return {
        models: [...models.values()].map((model) => ({ ...model, workers: count(model.id) })),
      }
    },
  }),
]

function refuseDrain(id: string, { unservedModels }: DrainEffect): ApiError {
  const models = unservedModels.join(', ')
  const message = `no other machine serves ${models}; start one first, or drain ${id} with override`
  return new ApiError('invalid_value', message, { status: 409, param: 'override' })
}

function formatEffect({ remaining, unservedModels }: DrainEffect): WireDrainEffect {
  return { remaining, unserved_models: unservedModels }
}

function aboutAccount(found: Account, details: Record<string, unknown>): AuditSubject {
  return { accountId: found.id, id: found.id, name: found.name, details }
}

function formatAccount(found: Account): WireAccount {
  return {
    id: found.id,
    name: found.name,
    operates: found.operates,
    created_at: found.createdAt.toISOString(),
    disabled_at: found.disabledAt?.toISOString() ?? null,
    limits: formatLimits(found.limits),
    member_limits: formatLimits(found.memberPolicy.limits),
    member_key_days: found.memberPolicy.keyDays,
    email_domains: found.emailDomains,
  }
}

function formatWorker(found: AdminWorker): WireWorker {
  return {
    id: found.id,
    url: found.url,
    models: found.models.map((model) => model.id),
    capacity: found.capacity,
    active: found.active,
    draining: found.draining,
    registered_at: found.registeredAt.toISOString(),
    lease_until: found.leaseUntil.toISOString(),
  }
}
