/** What a log line may say: its fields and its levels. */

/** Every field a log line may have. The logger drops others at run time, too. */
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
