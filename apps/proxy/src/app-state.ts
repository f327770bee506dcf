/** The state shared by all request handlers of the proxy. */
import type { UpstreamMessage } from '@privatemode/http'
import type { PrivateClient, SealedCall } from '@privatemode/sdk'
import type { Log, Secret } from '@privatemode/service'
import type { AnswerTimeouts } from './exchange/answer-timeouts.ts'
import type { BackendLink } from './exchange/backend-link.ts'
import type { PaddingDrains } from './exchange/padding-drains.ts'
import type { ReceiptFile } from './exchange/receipt-file.ts'
import type { ShapedLeg } from './exchange/shaped-leg.ts'
import type { Heartbeats } from './exchange/stream-heartbeat.ts'
import type { DefaultSalt } from './inbound/cache-salt.ts'
import type { Dump } from './inbound/dump-requests.ts'
import type { ProxyMetrics } from './proxy-metrics.ts'
import type { TrafficShape } from './settings.ts'

export type App = {
  readonly client: PrivateClient
  readonly backend: BackendLink
  readonly formatMessage: (sealed: SealedCall) => UpstreamMessage
  /** The proxy's own key; without it, every request is sent under its client's key. */
  readonly apiKey: Secret | undefined
  readonly defaultSalt: DefaultSalt
  readonly bodyLimitBytes: number
  /** Headers of every response in hosted mode, for web pages. */
  readonly everyHeader: Readonly<Record<string, string>> | undefined
  readonly shape: TrafficShape
  /** How answers to network clients are shaped in hosted mode; `undefined` sends them unchanged. */
  readonly leg: ShapedLeg | undefined
  readonly drains: PaddingDrains
  readonly log: Log
  readonly metrics: ProxyMetrics
  readonly heartbeats: Heartbeats
  readonly answers: AnswerTimeouts
  readonly dump: Dump | undefined
  readonly receipts: ReceiptFile | undefined
}
