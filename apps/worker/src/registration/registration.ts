/** Keeps this worker listed at its gateways: registers, renews the lease, leaves. */
import type { EngineModel } from '@privatemode/inference'
import { formatModel } from '@privatemode/protocol/api'
import {
  fleetPaths,
  type LeavingAnswer,
  type RegistrationAnswer,
  type RegistrationBody,
  renewAfterMs,
  type SignedUsage,
  type UsageReport,
} from '@privatemode/protocol/fleet'
import { type Log, type OutboundFetch, type Secret, ServiceError } from '@privatemode/service'
import type { RelayKeys } from '../relay/relay-keys.ts'

export type RegistrationOptions = {
  readonly gatewayUrl: string
  readonly registerToken: Secret
  readonly workerId: string
  /** The address at which the gateway reaches this worker. */
  readonly url: string
  readonly receiptKey: Uint8Array
  readonly relayKeys: Pick<RelayKeys, 'current'>
  readonly capacity: number
  readonly fetch: OutboundFetch
  readonly log: Log
  /** Read anew for every renewal. */
  readonly state: () => Promise<{
    readonly sealKeyId: string
    readonly models: readonly EngineModel[]
    readonly active: number
    readonly draining: boolean
  }>
}

/** Between two attempts of which the first took longer than the pause: the lease runs out meanwhile. */
const leastPauseMs = 100
const timeoutMs = 5_000
const longestLingerMs = 30_000

export class Registration {
  readonly #options: RegistrationOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #listed = false
  /** As the registry last said; it may differ from one answer to the next. */
  #leaseSeconds: number | undefined
  #stopped = false

  constructor(options: RegistrationOptions) {
    this.#options = options
  }

  /** Starts renewing; resolves after the first attempt, whether it succeeded or not. */
  async start(): Promise<void> {
    const startedMs = performance.now()
    await this.renew()
    if (this.#stopped) return
    const renewMs = renewAfterMs(this.#leaseSeconds)
    const pauseMs = Math.max(leastPauseMs, renewMs - (performance.now() - startedMs))
    this.#timer = setTimeout(() => void this.start(), pauseMs)
  }

  async renew(): Promise<void> {
    const { log, gatewayUrl } = this.#options
    try {
      this.#leaseSeconds = readLease(await this.#call('PUT', this.#path(), await this.#body()))
      if (!this.#listed) log.info('registered at the gateway', { url: gatewayUrl })
      this.#listed = true
    } catch (error) {
      const detail = explain(error)
      log.warn('registration at the gateway failed, retrying', { url: gatewayUrl, detail })
      this.#listed = false
    }
  }

  /**
   * Leaves the list, so that no new session begins here. Gives the milliseconds for which gateways
   * that have not heard of it may still send requests.
   */
  async leave(): Promise<number> {
    this.#stopped = true
    clearTimeout(this.#timer)
    try {
      return readLinger(await this.#call('DELETE', this.#path(), undefined))
    } catch {
      return 0 // the lease ends by itself in a few seconds
    }
  }

  postUsage = async (records: readonly SignedUsage[]): Promise<void> => {
    const report: UsageReport = { records }
    await this.#call('POST', fleetPaths.usage, report)
  }

  #path(): string {
    return fleetPaths.registeredWorker(this.#options.workerId)
  }

  async #body(): Promise<RegistrationBody> {
    const { url, receiptKey, relayKeys, capacity, state } = this.#options
    const { sealKeyId, models, active, draining } = await state()
    return {
      url,
      models: models.map((model) => formatModel(model)),
      seal_key_id: sealKeyId,
      receipt_key: Buffer.from(receiptKey).toString('base64'),
      relay_key: Buffer.from(relayKeys.current()).toString('base64'),
      capacity,
      active,
      draining,
    }
  }

  async #call(method: string, path: string, body: object | undefined): Promise<string> {
    const { gatewayUrl, registerToken, fetch } = this.#options
    const response = await fetch(gatewayUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${registerToken.reveal()}`,
        'content-type': 'application/json',
      },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`status ${response.status}: ${text.slice(0, 200)}`)
    return text
  }
}

/** The lease of an answer; an answer without one leaves the usual pause. */
function readLease(text: string): number | undefined {
  return readNumber(text, 'lease_seconds' satisfies keyof RegistrationAnswer)
}

/** An older gateway says nothing of it. */
function readLinger(text: string): number {
  const seconds = readNumber(text, 'linger_seconds' satisfies keyof LeavingAnswer) ?? 0
  return seconds > 0 ? Math.min(1000 * seconds, longestLingerMs) : 0
}

function readNumber(text: string, field: string): number | undefined {
  try {
    const value = (JSON.parse(text) as Record<string, unknown> | null)?.[field]
    return typeof value === 'number' ? value : undefined
  } catch {
    return undefined
  }
}

function explain(error: unknown): string {
  if (error instanceof ServiceError && error.code === 'unknown_authority') {
    return `${error.message}; an authority of your own is given with --gatewayCaPath`
  }
  return error instanceof Error ? error.message : 'unknown reason'
}
