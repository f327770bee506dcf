/** The official Anthropic client over sealed calls: `new PrivatemodeAnthropic({ apiKey })`. */
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk'
import type { ClientSettings } from './client-settings.ts'
import { LazyConnection } from './lazy-connection.ts'
import type { Privatemode } from './privatemode.ts'

/** The official client's options, plus those of {@link Privatemode.connect}. */
export type PrivatemodeAnthropicOptions = Omit<
  ClientOptions,
  'apiKey' | 'authToken' | 'baseURL' | 'fetch'
> &
  ClientSettings

/**
 * The complete official client, with its types. The backend is verified on the first call; prompts
 * and answers are sealed between this program and the verified worker.
 */
export class PrivatemodeAnthropic extends Anthropic {
  readonly #connection: LazyConnection

  constructor(options: PrivatemodeAnthropicOptions = {}) {
    const connection = LazyConnection.of(options)
    const { apiKey = connection.apiKey } = options
    const { baseURL, fetch } = connection
    // ANTHROPIC_AUTH_TOKEN in the environment is meant for another service.
    super({ ...options, apiKey, authToken: null, baseURL, fetch })
    this.#connection = connection
  }

  /**
   * Verifies now unless a call already did; gives access to the verification, receipts and evidence
   * bundles.
   */
  verified(): Promise<Privatemode> {
    return this.#connection.connected()
  }
}
