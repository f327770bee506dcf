/** A connection that is made, and whose backend is verified, when the first call needs it. */
import { ApiError, findRoute, formatError } from '@privatemode/protocol/api'
import { type ClientSettings, resolveSettings } from './client-settings.ts'
import type { ConnectOptions } from './connect-options.ts'
import { Privatemode } from './privatemode.ts'
import { PrivatemodeError } from './privatemode-error.ts'
import { unlessAborted } from './unless-aborted.ts'

type PlatformFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** `withOptions` of the official clients passes the first client's `fetch` to the next one. */
const byFetch = new WeakMap<object, LazyConnection>()

export class LazyConnection {
  readonly apiKey: string
  readonly baseURL: string
  /** Refusals become responses in the caller's dialect, so that official clients throw their own errors. */
  readonly fetch: PlatformFetch
  readonly #options: ConnectOptions
  #connecting: Promise<Privatemode> | undefined

  constructor(settings: ClientSettings) {
    this.#options = resolveSettings(settings)
    this.apiKey = this.#options.apiKey
    this.baseURL = `${this.#options.endpoint.replace(/\/+$/, '')}/v1`
    this.fetch = (input, init) => this.#call(input, init)
    byFetch.set(this.fetch, this)
  }

  /** The connection behind a `fetch` that an official client was created with, or a new one. */
  static of(settings: ClientSettings & { readonly fetch?: unknown }): LazyConnection {
    const { fetch, ...own } = settings
    const known = typeof fetch === 'function' ? byFetch.get(fetch) : undefined
    return known ?? new LazyConnection(own)
  }

  /** Resolves once a worker is verified. A failed attempt is repeated on the next call. */
  connected(): Promise<Privatemode> {
    this.#connecting ??= Privatemode.connect(this.#options).catch((error: unknown) => {
      this.#connecting = undefined
      throw error
    })
    return this.#connecting
  }

  async #call(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    let client: Privatemode
    try {
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
      client = await unlessAborted(this.connected(), signal)
    } catch (error) {
      const refusal = error instanceof PrivatemodeError ? error.cause : undefined
      if (!(refusal instanceof ApiError)) throw error
      return refuse(input, init, refusal)
    }
    return client.fetch(input, init)
  }
}

function refuse(
  input: string | URL | Request,
  init: RequestInit | undefined,
  error: ApiError,
): Response {
  const { url, method } = input instanceof Request ? input : { url: String(input), method: 'GET' }
  const path = new URL(url).pathname.replace(/^.*?(\/v1\/(?!v1\/))/, '$1')
  const found = findRoute(init?.method ?? method, path)
  const dialect = found.kind === 'found' ? found.route.dialect : found.dialect
  const { status, headers, body } = formatError(dialect, error, crypto.randomUUID())
  return new Response(body, { status, headers })
}
