/** Keeps this worker registered at its gateways: registers, renews the lease, deregisters. */
import type { EngineModel } from '@privatemode/inference'
import { formatModel } from '@privatemode/protocol/api'
import {
  type LeavingAnswer,
  type RegistrationAnswer,
  type RegistrationBody,
  registryPaths,
  renewAfterMs,
  type UsageReport,
} from '@privatemode/protocol/fleet'
import { type Log, type OutboundFetch, type Secret, ServiceError } from '@privatemode/service'
import type { RelayKeys } from '../relay/relay-keys.ts'

export type RegistrationOptions = {
  readonly gatewayUrl: string
  /** Read again for every call: a token that the gateway refused may be replaced. */
  readonly registerToken: () => Secret
  /** Called when the gateway has accepted the token. */
  readonly onListed?: () => void
  readonly workerId: string
  /** The address at which the gateway reaches this worker. */
  readonly url: string
  readonly receiptKey: Uint8Array
  readonly relayKeys: Pick<RelayKeys, 'current'>
  readonly capacity: number
  readonly fetch: OutboundFetch
  readonly log: Log
  /** Read again for every renewal. */
  readonly state: () => Promise<{
    readonly sealKeyId: string
    readonly models: readonly EngineModel[]
    readonly active: number
    readonly draining: boolean
  }>
}

/** Pause after an attempt that took longer than the regular pause, as the lease is running out. */
const leastPauseMs = 100
const timeoutMs = 5_000
const longestLingerMs = 30_000

export class Registration {
  readonly #options: RegistrationOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #listed = false
  /** As last granted by the registry; it may change with every answer. */
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
      if (!this.#listed) {
        log.info('registered at the gateway', { url: gatewayUrl })
        this.#options.onListed?.()
      }
      this.#listed = true
    } catch (error) {
      const detail = explain(error)
      log.warn('registration at the gateway failed, retrying', { url: gatewayUrl, detail })
      this.#listed = false
    }
  }

  /**
   * Deregisters, so that no new session begins here. Returns for how many milliseconds gateways
   * that have not noticed yet may still send requests.
   */
  async leave(): Promise<number> {
    this.#stopped = true
    clearTimeout(this.#timer)
    try {
      return readLinger(await this.#call('DELETE', this.#path(), undefined))
    } catch {
      return 0 // the lease expires by itself in a few seconds
    }
  }

  postUsage = async (report: UsageReport): Promise<void> => {
    await this.#call('POST', registryPaths.usage, report)
  }

  #path(): string {
    return registryPaths.worker(this.#options.workerId)
  }

  async #body(): Promise<RegistrationBody> {
    const { url, receiptKey, relayKeys, capacity, state } = this.#options
    const { sealKeyId, models, active, draining } = await state()
    return {
      url,
      models: models.map((model) => ({
        ...formatModel(model),
        input_modalities: model.vision ? ['text', 'image'] : ['text'],
      })),
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
        authorization: `Bearer ${registerToken().reveal()}`,
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

/** Reads the lease from an answer; without one, the default pause applies. */
function readLease(text: string): number | undefined {
  return readNumber(text, 'lease_seconds' satisfies keyof RegistrationAnswer)
}

/** Older gateways do not send it. */
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
    return `${error.message}; use --gatewayCaPath for a private certificate authority`
  }
  return error instanceof Error ? error.message : 'unknown reason'
}
