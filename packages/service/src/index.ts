/** Building blocks of a service: flags, log, metrics, listener, outbound connections, shutdown. */

export { decodeBody } from './decode-body.ts'
export { FairShare } from './fair-share.ts'
export { formatFlagTable, formatHelp } from './flag-help.ts'
export {
  type AskedText,
  type FlagSources,
  type ParsedFlags,
  type ParsedSettings,
  parseFlags,
} from './flags.ts'
export { hashInTurns } from './hash-in-turns.ts'
export { ipBytes, ipVersion } from './ip-address.ts'
export {
  defaultListenLimits,
  type Handler,
  type Listener,
  type ListenLimits,
  type ListenOptions,
  listen,
  type Peer,
} from './listener.ts'
export { createLocalAuthority, type LocalAuthority, type Validity } from './local-authority.ts'
export { createLog, type Log, type LogFormat, type LogOptions, parseLogLevel } from './log.ts'
export { type LogField, type LogFieldValues, type LogLevel, logLevels } from './log-fields.ts'
export { logFlags } from './log-flags.ts'
export { describeError } from './log-line.ts'
export {
  type Counter,
  type CounterCell,
  createMetrics,
  durationBuckets,
  type Gauge,
  type Histogram,
  type HistogramCell,
  type Labels,
  type Metrics,
  metricsContentType,
} from './metrics.ts'
export {
  type CaBundle,
  createOutbound,
  type Outbound,
  type OutboundFetch,
  type OutboundOptions,
} from './outbound.ts'
export { explainOutboundError } from './outbound-error.ts'
export { envName, type Flag, type FlagTable, type FlagValues, type Program } from './program.ts'
export { isLoopback } from './proxy-choice.ts'
export { readBody } from './read-body.ts'
export { readExchange } from './read-exchange.ts'
export { readNamedFile } from './read-named-file.ts'
export { newRequestId, requestIdHeaders } from './request-id.ts'
export { Secret } from './secret.ts'
export { ServiceError, type ServiceErrorCode } from './service-error.ts'
export { onShutdown, type ShutdownOptions, type ShutdownSignal } from './shutdown.ts'
export { formatTraceparent, parseTraceparent, type TraceContext } from './tracing/trace-context.ts'
export { readTraceSettings, type TraceSettings } from './tracing/trace-settings.ts'
export { type OpenSpan, type SpanEnd, Tracer } from './tracing/tracer.ts'
export { giveTurn } from './turns.ts'
