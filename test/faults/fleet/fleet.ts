/** The whole system as separate processes, with a link between every two that can be disturbed. */
import { rmSync } from 'node:fs'
import type { ManifestDraft } from '@privatemode/attestation'
import type { PostgresServer } from '../../../apps/gateway/src/testing/postgres-server.ts'
import type { Clocks } from './clocks.ts'
import type { Disk } from './disks.ts'
import type { Ears } from './ears.ts'
import type { Link } from './link.ts'
import type { Trust } from './manifests.ts'
import type { Part } from './part.ts'
import type { Wire } from './wire.ts'

export type Disks = { readonly logs: Disk; readonly workspace: Disk; readonly database: Disk }

export const adminToken = 'admin-token-of-the-fleet-0123456789abcdef'
export const registerToken = 'register-token-of-the-fleet-0123456789abcdef'

export class Fleet {
  readonly folder: string
  readonly marker: string
  readonly ears: Ears
  readonly postgres: PostgresServer
  readonly trust: Trust
  readonly clocks: Clocks | undefined
  readonly disks: Disks | undefined
  readonly wire: Wire | undefined
  readonly model: Part
  readonly gateways: readonly Part[]
  readonly workers: readonly Part[]
  readonly proxy: Part
  /** From the proxy and the workers to the gateways. */
  readonly front: Link
  /** From the gateways to each worker. */
  readonly backs: readonly Link[]
  readonly database: Link
  readonly engine: Link
  readonly proxyPort: number
  readonly measurement: string
  readonly models: ManifestDraft['models']
  readonly apiKey: string
  /** Addresses of the gateways themselves, without a link in front. */
  readonly gatewayUrls: readonly string[]
  #turn = 0

  constructor(parts: FleetParts) {
    this.folder = parts.folder
    this.marker = parts.marker
    this.ears = parts.ears
    this.postgres = parts.postgres
    this.trust = parts.trust
    this.clocks = parts.clocks
    this.disks = parts.disks
    this.wire = parts.wire
    this.model = parts.model
    this.gateways = parts.gateways
    this.workers = parts.workers
    this.proxy = parts.proxy
    this.front = parts.front
    this.backs = parts.backs
    this.database = parts.database
    this.engine = parts.engine
    this.proxyPort = parts.proxyPort
    this.measurement = parts.measurement
    this.models = parts.models
    this.apiKey = parts.apiKey
    this.gatewayUrls = parts.gatewayUrls
  }

  get parts(): readonly Part[] {
    return [this.model, ...this.gateways, ...this.workers, this.proxy]
  }

  get links(): readonly Link[] {
    return [this.front, ...this.backs, this.database, this.engine]
  }

  /** Calls the admin API as an operator, bypassing the links: it has no cryptography of its own. */
  admin(method: string, path: string, body?: object): Promise<Response> {
    return callAdmin(this.gatewayUrl, method, path, body)
  }

  /** A running gateway, in turn. */
  get gatewayUrl(): string {
    const urls = this.gatewayUrls.filter((_, index) => this.gateways[index]?.isRunning)
    return (urls.length > 0 ? urls : this.gatewayUrls)[this.#turn++ % Math.max(1, urls.length)]!
  }

  async stop(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.end()))
    for (const link of this.links) link.close()
    await this.postgres.stop()
    unmount(this.disks)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

type FleetParts = Omit<Fleet, 'parts' | 'links' | 'admin' | 'gatewayUrl' | 'stop'>

export function unmount(disks: Disks | undefined): void {
  if (disks === undefined) return
  for (const disk of Object.values(disks)) disk.unmount()
  rmSync(disks.database.path, { recursive: true, force: true })
}

export function callAdmin(
  url: string,
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  return fetch(`${url}/privatemode/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...soon(),
    keepalive: false,
  })
}

export const soon = (ms = 5_000): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(ms) })
