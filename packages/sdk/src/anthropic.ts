/** The official Anthropic client, sealed: `new PrivatemodeAnthropic({ apiKey })`. */
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk'
import type { ClientSettings } from './client-settings.ts'
import { LazyConnection } from './lazy-connection.ts'
import type { Privatemode } from './privatemode.ts'

export type PrivatemodeAnthropicOptions = Omit<
  ClientOptions,
  'apiKey' | 'authToken' | 'baseURL' | 'fetch'
> &
  ClientSettings

/**
 * Everything the official client has, with its types. The backend is verified when the first call is made;
 * prompts and answers are sealed between this program and the verified worker.
 */
export class PrivatemodeAnthropic extends Anthropic {
  readonly #connection: LazyConnection

  constructor(options: PrivatemodeAnthropicOptions = {}) {
    const connection = LazyConnection.of(options)
    const { apiKey = connection.apiKey } = options
    const { baseURL, fetch } = connection
    // ANTHROPIC_AUTH_TOKEN in the environment is another service's.
    super({ ...options, apiKey, authToken: null, baseURL, fetch })
    this.#connection = connection
  }

  /** Verifies now, where no call has done so: what was verified, receipts and evidence bundles. */
  verified(): Promise<Privatemode> {
    return this.#connection.connected()
  }
}
