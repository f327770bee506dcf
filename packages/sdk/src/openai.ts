/** The official OpenAI client over sealed calls: `new PrivatemodeOpenAI({ apiKey })`. */
import OpenAI, { type ClientOptions } from 'openai'
import type { ClientSettings } from './client-settings.ts'
import { LazyConnection } from './lazy-connection.ts'
import type { Privatemode } from './privatemode.ts'

/** The official client's options, plus those of {@link Privatemode.connect}. */
export type PrivatemodeOpenAIOptions = Omit<ClientOptions, 'apiKey' | 'baseURL' | 'fetch'> &
  ClientSettings

/**
 * The complete official client, with its types. The backend is verified on the first call; prompts
 * and answers are sealed between this program and the verified worker.
 */
export class PrivatemodeOpenAI extends OpenAI {
  readonly #connection: LazyConnection

  constructor(options: PrivatemodeOpenAIOptions = {}) {
    const connection = LazyConnection.of(options)
    const { apiKey = connection.apiKey } = options
    super({ ...options, apiKey, baseURL: connection.baseURL, fetch: connection.fetch })
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
