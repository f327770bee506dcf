/** Accepts requests relayed by gateways that know this worker's relay key: fresh, and each only once. */
import type { HeaderLookup } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import { EnvelopeError, ReplayGuard } from '@privatemode/protocol/envelope'
import {
  admissionShape,
  relayHeaders,
  relayMaxAgeMs,
  relayMaxAheadMs,
  relayText,
} from '@privatemode/protocol/fleet'
import type { GatewayView } from '../sealed/answer-sealed.ts'
import type { RelayKeys } from './relay-keys.ts'

/** How much of the MAC is remembered. */
const rememberedBytes = 16
const maxRemembered = 1_000_000

export class RelayGuard {
  readonly #workerId: string
  readonly #keys: RelayKeys
  readonly #seen: ReplayGuard

  constructor(workerId: string, keys: RelayKeys, now: () => Date) {
    this.#workerId = workerId
    this.#keys = keys
    const limits = { maxAgeMs: relayMaxAgeMs, maxAheadMs: relayMaxAheadMs, maxRemembered }
    this.#seen = new ReplayGuard(limits, () => now().getTime())
  }

  /** Throws an `ApiError` before any byte of the body is read; otherwise returns the gateway's view. */
  accept(headers: HeaderLookup): GatewayView {
    const read = (name: keyof typeof relayHeaders) => headers.get(relayHeaders[name]) ?? ''
    const length = headers.get('content-length') ?? ''
    const sentAt = read('sentAt')
    const view: GatewayView = {
      requestId: read('requestId'),
      model: read('model'),
      path: read('path'),
      keyRef: read('keyRef'),
      admission: read('admission'),
    }
    const text = relayText({
      ...{ ...view, workerId: this.#workerId },
      ...{ sentAtMs: Number(sentAt), lengthBytes: Number(length) },
    })
    const mac = Buffer.from(read('mac'), 'base64url')
    const isPlain = /^\d{1,15}$/.test(sentAt) && /^\d{1,15}$/.test(length)
    if (!isPlain || !admissionShape.test(view.admission) || !this.#keys.verify(text, mac)) {
      throw new ApiError(
        'permission_denied',
        'only a gateway of this deployment may send requests to a worker',
      )
    }
    this.#acceptOnce(mac, Number(sentAt))
    return view
  }

  #acceptOnce(mac: Uint8Array<ArrayBuffer>, sentAtMs: number): void {
    // Sealed requests have a replay check of their own, whatever the clock shows: this guard may be reset.
    if (this.#seen.isBehind) this.#seen.forget()
    try {
      this.#seen.accept({ requestId: mac.subarray(0, rememberedBytes), issuedAtMs: sentAtMs })
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error
      if (error.code === 'replayed') throw new ApiError('replayed', 'this relay was seen before')
      if (error.code === 'overloaded') throw new ApiError('overloaded', 'too many relayed requests')
      const message = `sent at ${sentAtMs} by the gateway's clock, which is not within ${relayMaxAgeMs / 1000} s of this worker's`
      throw new ApiError('permission_denied', message)
    }
  }
}
