/** The targets that a load can be sent to. */
import type { SealedSpec } from '../load/load-spec.ts'
import type { Child } from './child.ts'

export type Target = {
  readonly name: TargetName
  readonly port: number
  /** The same with TLS, if available. */
  readonly tlsPort?: number
  readonly headers: Readonly<Record<string, string>>
  /** Prepended to the model's name. */
  readonly modelPrefix?: string
  /** Accepts sealed requests only: the load generator seals them. */
  readonly sealed?: SealedSpec
  /** The programs measured, each separately. */
  readonly parts: readonly Part[]
  /** Resolves when the work that answers left behind is done: it counts, too. */
  readonly settled?: () => Promise<void>
}

export type Part = {
  readonly name: string
  readonly pid: number
  /** Shown, but not part of the target's CPU time. */
  readonly apart?: boolean
}

export type Skipped = { readonly name: TargetName; readonly why: string }

/** In the order in which tables show them. */
export const targetNames = [
  'direct',
  'direct, sealed',
  'nginx',
  'haproxy',
  'portkey',
  'llms',
  'litellm',
  'proxy',
  'proxy, shape off',
  'gateway',
  'gateway, metered',
  'gateway, PostgreSQL',
  'worker',
  'whole path',
  'whole path, shape off',
] as const

export type TargetName = (typeof targetNames)[number]

export const describeTarget: Readonly<Record<TargetName, string>> = {
  direct: 'load generator directly to the model server: the ceiling of this rig',
  'direct, sealed':
    'load generator that seals, directly to the backend that the proxy alone talks to',
  nginx: 'nginx, plain reverse proxy, encrypts nothing',
  haproxy: 'haproxy, plain reverse proxy, encrypts nothing',
  portkey: "Portkey's gateway on Node, encrypts nothing",
  llms: '@musistudio/llms on Node, encrypts nothing',
  litellm: 'LiteLLM on Python, encrypts nothing',
  proxy: 'our proxy: sealed, attested, padded (shape default)',
  'proxy, shape off': 'our proxy: sealed and attested, streams unshaped',
  gateway: 'our gateway alone, between a load generator that seals and that backend',
  'gateway, metered':
    'the same, with usage reported by the backend and booked in the embedded database',
  'gateway, PostgreSQL': 'the same, with usage booked in PostgreSQL, whose CPU time counts apart',
  worker: 'our worker alone, between a load generator that seals and the model server',
  'whole path': 'our proxy, gateway and worker (shape default)',
  'whole path, shape off': 'our proxy, gateway and worker, streams unshaped',
}

export const jsonType = { 'content-type': 'application/json' }

export const partOf = (child: Child) => ({ name: child.name, pid: child.pid })
