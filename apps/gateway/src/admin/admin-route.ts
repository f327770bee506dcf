/** A route of the admin API: its parameters, who may call it, and its answer. */
import type { ModelObject } from '@privatemode/protocol/api'
import type { Schema, SchemaOf } from '@privatemode/protocol/fleet'
import type { OidcSignIn } from '../members/oidc.ts'
import type { Database } from '../state/database.ts'
import type { Actor } from './actor.ts'
import type { CallsAtOnce } from './calls-at-once.ts'
import type { FieldTable, Parsed } from './fields.ts'

/** Dependencies shared by all routes. */
export type AdminParts = {
  readonly database: Database
  /** The gateway's address for people; its scheme decides whether cookies are secure. */
  readonly publicUrl: string
  readonly workers: () => readonly AdminWorker[]
  readonly refreshWorkers: () => Promise<void>
  /** Called when a change may affect keys: this gateway checks them again. */
  readonly forgetKeys: () => void
  readonly oidc: OidcSignIn | undefined
  readonly atOnce: CallsAtOnce
}

export type AdminWorker = {
  readonly id: string
  readonly url: string
  readonly models: readonly ModelObject[]
  readonly capacity: number
  readonly active: number
  readonly draining: boolean
  readonly registeredAt: Date
  readonly leaseUntil: Date
}

export type AdminCall<Query, Body, Who> = {
  readonly parts: AdminParts
  readonly request: Request
  /** IP address of the caller. */
  readonly address: string
  readonly actor: Who
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
}

type Described = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Below `/privatemode/v1/admin`; `{name}` is a parameter. */
  readonly path: string
  readonly summary: string
  readonly query: FieldTable
  readonly body: FieldTable | undefined
  readonly status: number
  readonly answer: Schema
  readonly answerType: string
}

export type AdminRoute = Described &
  (
    | {
        readonly access: 'anyone'
        readonly handle: (call: AdminCall<never, never, undefined>) => Promise<unknown>
      }
    | {
        readonly access: 'signed_in'
        readonly handle: (call: AdminCall<never, never, Actor>) => Promise<unknown>
      }
  )

type RouteWish<Query extends FieldTable, Body extends FieldTable, Answer, Who> = {
  readonly summary: string
  readonly query?: Query
  readonly body?: Body
  readonly status?: number
  readonly answer?: SchemaOf<Answer>
  readonly answerType?: string
  /** Returns what `answer` describes, or a whole response if it has headers of its own. */
  readonly handle: (call: AdminCall<Parsed<Query>, Parsed<Body>, Who>) => Promise<Answer | Response>
}

/** A route for signed-in members and for the admin token. */
export function route<
  const Query extends FieldTable = Record<never, never>,
  const Body extends FieldTable = Record<never, never>,
  Answer = Response,
>(line: string, wish: RouteWish<Query, Body, Answer, Actor>): AdminRoute {
  return { ...describe(line, wish), access: 'signed_in', handle: wish.handle as never }
}

/** A public route, for signing in. */
export function openRoute<
  const Query extends FieldTable = Record<never, never>,
  const Body extends FieldTable = Record<never, never>,
  Answer = Response,
>(line: string, wish: RouteWish<Query, Body, Answer, undefined>): AdminRoute {
  return { ...describe(line, wish), access: 'anyone', handle: wish.handle as never }
}

function describe(
  line: string,
  wish: Omit<RouteWish<FieldTable, FieldTable, unknown, never>, 'handle'>,
): Described {
  const [method, path] = line.split(' ')
  return {
    method: method as Described['method'],
    path: path ?? '',
    summary: wish.summary,
    query: wish.query ?? {},
    body: wish.body,
    status: wish.status ?? 200,
    answer: wish.answer ?? { type: wish.answerType === undefined ? 'object' : 'string' },
    answerType: wish.answerType ?? 'application/json',
  }
}
