/** A worker's registration, validated once at the edge. */
import { ApiError, type ModelObject, parseModel } from '@privatemode/protocol/api'
import { isWorkerId, type RegistrationBody, relayKeyBytes } from '@privatemode/protocol/fleet'

export type Registration = {
  readonly id: string
  /** Origin without a path, as reached by the gateway. */
  readonly url: string
  readonly models: readonly ModelObject[]
  readonly sealKeyId: string
  readonly receiptKey: Uint8Array
  /** The key with which gateways authenticate relayed requests to this worker. */
  readonly relayKey: Uint8Array
  readonly capacity: number
  readonly active: number
  readonly draining: boolean
}

const maxModels = 64

export function parseRegistration(id: string, body: unknown): Registration {
  if (!isWorkerId(id)) throw refuse('id', 'letters, digits, "_" and "-"')
  if (typeof body !== 'object' || body === null) throw refuse('body', 'a JSON object')
  const wire = body as { readonly [field in keyof RegistrationBody]?: unknown }
  return {
    id,
    url: parseUrl(wire.url),
    models: parseModels(wire.models),
    sealKeyId: parseText('seal_key_id', wire.seal_key_id, /^[0-9a-f]{8,128}$/),
    receiptKey: parseKey('receipt_key', wire.receipt_key),
    relayKey: parseRelayKey(wire.relay_key),
    capacity: parseCount('capacity', wire.capacity),
    active: parseCount('active', wire.active),
    draining: wire.draining === true,
  }
}

function parseUrl(value: unknown): string {
  const url = typeof value === 'string' && value.length <= 1024 ? URL.parse(value) : null
  const plain = url?.pathname === '/' && url.search === '' && url.username === ''
  if (url === null || !plain || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw refuse('url', 'an http or https origin such as https://10.0.0.7:8095')
  }
  return url.origin
}

function parseModels(value: unknown): ModelObject[] {
  if (!Array.isArray(value) || value.length > maxModels) {
    throw refuse('models', `a list of at most ${maxModels} models`)
  }
  return value.map((entry: unknown, index) => {
    const model = parseModel(entry)
    if (model === undefined) throw refuse(`models[${index}]`, 'a model object')
    return model
  })
}

/** A worker without one predates admissions: all its requests would be booked as lost. */
function parseRelayKey(value: unknown): Uint8Array {
  if (value !== undefined) return parseKey('relay_key', value)
  const message = 'this worker is older than the gateway: its usage could not be billed; upgrade it'
  throw new ApiError('invalid_value', message, { param: 'relay_key' })
}

/** Both kinds of keys are `relayKeyBytes` long. */
function parseKey(name: string, value: unknown): Uint8Array {
  const key = Buffer.from(parseText(name, value, /^[A-Za-z0-9+/]{43}=$/), 'base64')
  if (key.length !== relayKeyBytes) throw refuse(name, `${relayKeyBytes} bytes in base64`)
  return key
}

function parseText(name: string, value: unknown, shape: RegExp): string {
  if (typeof value === 'string' && shape.test(value)) return value
  throw refuse(name, `text like ${shape.source}`)
}

function parseCount(name: string, value: unknown): number {
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1e6) return Number(value)
  throw refuse(name, 'a whole number from 0 to 1000000')
}

function refuse(param: string, expected: string): ApiError {
  return new ApiError('invalid_value', `${param} must be ${expected}`, { param })
}
