/** Reads the standard OpenTelemetry environment variables; without an endpoint nothing is traced. */
import { Secret } from '../secret.ts'
import { ServiceError } from '../service-error.ts'

export type Sampling = {
  /** Share of traces starting here that are sampled, 0 to 1. */
  readonly ratio: number
  /** Whether the caller's sampling decision is honoured. */
  readonly followsParent: boolean
}

export type TraceSettings = {
  /** URL to which spans are posted, including the path. */
  readonly url: string
  /** May contain the collector's token. */
  readonly headers: ReadonlyMap<string, Secret>
  readonly serviceName: string
  readonly sampling: Sampling
}

type Env = Readonly<Record<string, string | undefined>>

export function readTraceSettings(env: Env, serviceName: string): TraceSettings | undefined {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT
  const text =
    env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ||
    (base ? `${base.replace(/\/+$/, '')}/v1/traces` : undefined)
  const off = env.OTEL_SDK_DISABLED === 'true' || env.OTEL_TRACES_EXPORTER === 'none'
  if (text === undefined || off) return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw refuse('OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL without credentials')
  }
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL
  if (protocol !== undefined && protocol !== 'http/json') {
    throw refuse(`OTEL_EXPORTER_OTLP_PROTOCOL is "${protocol}", only http/json is supported`)
  }
  return {
    url: url.href,
    headers: readHeaders(
      env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS ?? '',
    ),
    serviceName: env.OTEL_SERVICE_NAME || serviceName,
    sampling: readSampling(
      env.OTEL_TRACES_SAMPLER ?? 'parentbased_always_on',
      env.OTEL_TRACES_SAMPLER_ARG,
    ),
  }
}

/** `name=value,name=value`, values percent-encoded. */
function readHeaders(text: string): Map<string, Secret> {
  const headers = new Map<string, Secret>()
  for (const pair of text.split(',').filter((part) => part.trim() !== '')) {
    const [, name = '', value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
    if (name === '') throw refuse('OTEL_EXPORTER_OTLP_HEADERS is not name=value,name=value')
    headers.set(name, new Secret(decode(value)))
  }
  return headers
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw refuse('OTEL_EXPORTER_OTLP_HEADERS has a value that is not percent-encoded')
  }
}

function readSampling(name: string, argument: string | undefined): Sampling {
  const followsParent = name.startsWith('parentbased_')
  switch (name.replace(/^parentbased_/, '')) {
    case 'always_on':
      return { ratio: 1, followsParent }
    case 'always_off':
      return { ratio: 0, followsParent }
    case 'traceidratio': {
      const ratio = Number(argument ?? 1)
      if (ratio >= 0 && ratio <= 1) return { ratio, followsParent }
      throw refuse('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1')
    }
  }
  throw refuse(`OTEL_TRACES_SAMPLER "${name}" is not known`)
}

function refuse(message: string): ServiceError {
  return new ServiceError('flag_invalid', message)
}
