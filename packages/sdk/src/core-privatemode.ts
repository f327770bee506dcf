/** Connects, verifies, and then speaks both dialects, sealed; the verifiers are handed in. */
import { ApiCalls } from './api-calls.ts'
import { ChatClient, EmbeddingsClient, MessagesClient, ModelsClient } from './api-clients.ts'
import { chooseDefaultSalt } from './cache-salt.ts'
import { PrivateClient } from './client.ts'
import { type CoreConnectOptions, clientOptions } from './connect-options.ts'
import { answerOf, privateFetch } from './private-fetch.ts'
import { PrivatemodeError, toPrivatemodeError } from './privatemode-error.ts'
import type { Receipt } from './receipted-answer.ts'
import { VerificationRecord } from './verification-record.ts'

export class CorePrivatemode {
  /** For official clients, whose `fetch` is {@link CorePrivatemode.fetch}. */
  readonly baseURL: string
  /** Calls of the public API go sealed to a verified worker; anything else is refused here. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  readonly chat: ChatClient
  readonly messages: MessagesClient
  readonly embeddings: EmbeddingsClient
  readonly models: ModelsClient
  readonly verification: VerificationRecord

  protected constructor(
    client: PrivateClient,
    apiKey: string,
    defaultSalt: string | undefined,
    verification: VerificationRecord,
  ) {
    const calls = new ApiCalls(client, apiKey, defaultSalt)
    this.baseURL = `${client.endpoint}/v1`
    this.fetch = privateFetch({ client, apiKey, defaultSalt })
    this.chat = new ChatClient(calls)
    this.messages = new MessagesClient(calls)
    this.embeddings = new EmbeddingsClient(calls)
    this.models = new ModelsClient(client, apiKey)
    this.verification = verification
  }

  /** Resolves when a worker was verified; rejects with the reason where none could be. */
  static async connect(options: CoreConnectOptions): Promise<CorePrivatemode> {
    const given = clientOptions(options)
    const defaultSalt = chooseDefaultSalt(options.cacheSalt ?? 'isolated', given.crypto)
    let client: PrivateClient
    const record = new VerificationRecord(() => client.verification(), given.now)
    client = new PrivateClient({
      ...given,
      onEvidence: (worker, proof) => record.keep(worker, proof),
    })
    try {
      await client.ready(options.apiKey)
    } catch (error) {
      throw toPrivatemodeError(error)
    }
    return new this(client, options.apiKey, defaultSalt, record)
  }

  /** The verified receipt of a response of `pm.fetch`, once its body was read to the end. */
  async receiptOf(response: Response): Promise<Receipt> {
    const answer = answerOf(response)
    if (answer !== undefined) return answer.receipt()
    const facts = { retryable: false }
    throw new PrivatemodeError('receipt_missing', 'not a sealed response of this client', facts)
  }
}
