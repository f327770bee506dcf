/** Meters the sealed backend's answers as a worker does: one signed record each, reported in batches. */
import type { HeaderLookup } from '@privatemode/http'
import { registryPaths, relayHeaders } from '@privatemode/protocol/fleet'
import { createLog } from '@privatemode/service'
import { UsageReporter } from '../apps/worker/src/registration/usage-reporter.ts'
import { ReceiptSigner } from '../apps/worker/src/sealed/receipts.ts'

/** What the gateway said about the records so far. */
export type ReportState = {
  /** Not acknowledged yet. */
  readonly waiting: number
  readonly accepted: number
  readonly rejected: number
}

const digest = 'ab'.repeat(32)
const digests = { request_digest: digest, response_digest: digest, statement_digest: digest }

export class SignedReports {
  readonly #signer = new ReceiptSigner()
  readonly #reporter: UsageReporter
  #accepted = 0
  #rejected = 0

  constructor(gatewayUrl: string, registerToken: string) {
    const headers = {
      authorization: `Bearer ${registerToken}`,
      'content-type': 'application/json',
    }
    const log = createLog({ format: 'json', level: 8, write: () => {} })
    this.#reporter = new UsageReporter(async (records) => {
      const body = JSON.stringify(this.#signer.signReport(records))
      const init = { method: 'POST', headers, body }
      const response = await fetch(gatewayUrl + registryPaths.usage, init)
      if (!response.ok) throw new Error(`the gateway refused usage: ${response.status}`)
      const verdict = (await response.json()) as { accepted: number; rejected: number }
      this.#accepted += verdict.accepted
      this.#rejected += verdict.rejected
    }, log)
  }

  get receiptKeyBase64(): string {
    return Buffer.from(this.#signer.publicKey).toString('base64')
  }

  get state(): ReportState {
    const { waiting } = this.#reporter
    return { waiting, accepted: this.#accepted, rejected: this.#rejected }
  }

  /** The receipt of one answer, whose usage will be reported. */
  issue(relayed: HeaderLookup, workerId: string): Uint8Array<ArrayBuffer> {
    const field = (name: keyof typeof relayHeaders) => relayed.get(relayHeaders[name]) ?? ''
    const { receipt, usage } = this.#signer.sign(
      {
        ...{ version: 2, admission: field('admission'), request_id: field('requestId') },
        ...{ worker_id: workerId, key_ref: field('keyRef'), model: field('model') },
        ...{ path: field('path'), status: 200, outcome: 'complete', prompt_tokens: 256 },
        ...{ cached_tokens: 0, completion_tokens: 256, started_at: Date.now(), duration_ms: 12 },
      },
      digests,
    )
    this.#reporter.add(usage)
    return receipt
  }
}
