/** Connects, verifies, and then seals what `fetch` is given; the verifiers are passed in. */
import { chooseDefaultSalt } from './cache-salt.ts'
import { PrivateClient } from './client.ts'
import { type CoreConnectOptions, clientOptions } from './connect-options.ts'
import { answerOf, privateFetch } from './private-fetch.ts'
import { PrivatemodeError, toPrivatemodeError } from './privatemode-error.ts'
import type { Receipt } from './receipted-answer.ts'
import { VerificationRecord } from './verification-record.ts'

/** A connection to a verified backend. Created with {@link CorePrivatemode.connect}. */
export class CorePrivatemode {
  /** The base URL for official clients that use {@link CorePrivatemode.fetch}. */
  readonly baseURL: string
  /** Seals public API calls to a verified worker; any other request is refused locally. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  readonly verification: VerificationRecord

  protected constructor(
    client: PrivateClient,
    apiKey: string,
    defaultSalt: string | undefined,
    verification: VerificationRecord,
  ) {
    this.baseURL = `${client.endpoint}/v1`
    this.fetch = privateFetch({ client, apiKey, defaultSalt })
    this.verification = verification
  }

  /** Resolves once a worker is verified; rejects with the reason if none could be. */
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

  /** The verified receipt of a `pm.fetch` response, once its body has been read to the end. */
  async receiptOf(response: Response): Promise<Receipt> {
    const answer = answerOf(response)
    if (answer !== undefined) return answer.receipt()
    const facts = { retryable: false }
    throw new PrivatemodeError('receipt_missing', 'not a sealed response of this client', facts)
  }
}
