/** The official OpenAI client, sealed: `new PrivatemodeOpenAI({ apiKey })`. */
import OpenAI, { type ClientOptions } from 'openai'
import type { ClientSettings } from './client-settings.ts'
import { LazyConnection } from './lazy-connection.ts'
import type { Privatemode } from './privatemode.ts'

export type PrivatemodeOpenAIOptions = Omit<ClientOptions, 'apiKey' | 'baseURL' | 'fetch'> &
  ClientSettings

/**
 * Everything the official client has, with its types. The backend is verified when the first call is made;
 * prompts and answers are sealed between this program and the verified worker.
 */
export class PrivatemodeOpenAI extends OpenAI {
  readonly #connection: LazyConnection

  constructor(options: PrivatemodeOpenAIOptions = {}) {
    const connection = LazyConnection.of(options)
    const { apiKey = connection.apiKey } = options
    super({ ...options, apiKey, baseURL: connection.baseURL, fetch: connection.fetch })
    this.#connection = connection
  }

  /** Verifies now, where no call has done so: what was verified, receipts and evidence bundles. */
  verified(): Promise<Privatemode> {
    return this.#connection.connected()
  }
}
