/** The fields and levels of log lines. */

/** Every allowed log field. The logger drops others at run time, too. */
export const logFields = [
  'requestId',
  'sealedRequestId',
  'method',
  'route',
  'model',
  'status',
  'code',
  'detail',
  'elapsedMs',
  'firstByteMs',
  'bytesIn',
  'bytesOut',
  'attempts',
  'worker',
  'manifest',
  'asOf',
  'until',
  'host',
  'port',
  'url',
  'file',
  'version',
  'count',
  'outcome',
  'keyRef',
  'promptTokens',
  'completionTokens',
  'signal',
  'part',
] as const

export type LogField = (typeof logFields)[number]
export type LogValue = string | number | boolean
export type LogFieldValues = { readonly [Name in LogField]?: LogValue | undefined }

export const logLevels = { debug: -4, info: 0, warn: 4, error: 8 } as const
export type LogLevel = keyof typeof logLevels
