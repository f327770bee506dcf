/** A client with a valid key that seals what no honest client would, to any worker the gateway lists. */
import { type AttestedWorker, parseAttestation, parseStatement } from '@privatemode/attestation'
import {
  type Bytes,
  establishSession,
  formatHex,
  type Session,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { craftRequest } from '../protocol/crafted-request.ts'
import type { Target } from './target.ts'

const path = '/v1/chat/completions'
const model = 'scripted'

export class SealingAttacker {
  readonly #url: string
  readonly #headers: Record<string, string>
  readonly #session: Session

  private constructor(url: string, headers: Record<string, string>, session: Session) {
    this.#url = url
    this.#headers = headers
    this.#session = session
  }

  static async connect(target: Target): Promise<SealingAttacker> {
    const url = `http://127.0.0.1:${target.port}/privatemode/v1`
    const headers = { authorization: target.auth.trim().replace(/^authorization: /, '') }
    const listed = await (await fetch(`${url}/directory`, { headers })).json()
    const [{ id }] = (listed as { workers: [{ id: string }] }).workers
    const nonce = 'ab'.repeat(32)
    const init = { method: 'POST', headers, body: JSON.stringify({ nonce }) }
    const response = await fetch(`${url}/workers/${id}/attestation`, init)
    const { statement } = parseAttestation(await response.bytes())
    const { workerId, sealKey } = await parseStatement(statement)
    const statementDigest = nativeCrypto.sha256(statement as Bytes)
    // An attacker has no reason to verify its target.
    const worker = { workerId, sealKey, statementDigest } as unknown as AttestedWorker
    return new SealingAttacker(url, headers, await establishSession(worker))
  }

  /** Sends a request with these frames; resolves to its status and code. */
  async send(frames: Iterable<Bytes>): Promise<string> {
    const requestId = nativeCrypto.random(16)
    const context = { requestId, issuedAtMs: Date.now(), method: 'POST', path, model }
    const response = await fetch(`${this.#url}/sealed`, {
      method: 'POST',
      headers: {
        ...this.#headers,
        'content-type': 'application/privatemode-sealed',
        'privatemode-request-id': formatHex(requestId),
        'privatemode-model': model,
        'privatemode-path': path,
        'privatemode-workers': this.#session.workerId,
      },
      body: await craftRequest(nativeCrypto, [this.#session], context, frames),
    })
    if (response.status === 200) {
      await response.body?.cancel()
      return '200'
    }
    const { error } = (await response.json()) as { error?: { code?: string } }
    return `${response.status} ${error?.code}`
  }
}
