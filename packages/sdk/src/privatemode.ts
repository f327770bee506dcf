/** The entry point of this package: verifiers for all supported hardware, and clients of both dialects. */
import { hardwareVerifiers } from '@privatemode/attestation'
import { ApiCalls } from './api-calls.ts'
import { ChatClient, EmbeddingsClient, MessagesClient, ModelsClient } from './api-clients.ts'
import type { PrivateClient } from './client.ts'
import type { ConnectOptions } from './connect-options.ts'
import { CorePrivatemode } from './core-privatemode.ts'
import { nodeCryptoProvider } from './node-crypto.ts'
import type { VerificationRecord } from './verification-record.ts'

/** A connection to a verified backend, with verifiers for all supported hardware. */
export class Privatemode extends CorePrivatemode {
  readonly chat: ChatClient
  readonly messages: MessagesClient
  readonly embeddings: EmbeddingsClient
  readonly models: ModelsClient

  protected constructor(
    client: PrivateClient,
    apiKey: string,
    defaultSalt: string | undefined,
    verification: VerificationRecord,
  ) {
    super(client, apiKey, defaultSalt, verification)
    const calls = new ApiCalls(client, apiKey, defaultSalt)
    this.chat = new ChatClient(calls)
    this.messages = new MessagesClient(calls)
    this.embeddings = new EmbeddingsClient(calls)
    this.models = new ModelsClient(client, apiKey)
  }

  /** Resolves once a worker is verified; rejects with the reason if none could be. */
  static override connect(options: ConnectOptions): Promise<Privatemode> {
    const given = { ...options, hardware: hardwareVerifiers, crypto: nodeCryptoProvider() }
    // biome-ignore lint/complexity/noThisInStatic: `super` creates an instance of this class
    return super.connect(given) as Promise<Privatemode>
  }
}
