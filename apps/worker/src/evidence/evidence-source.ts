/** Where a worker's evidence comes from; one implementation for each kind of machine. */
import type { Evidence } from '@privatemode/attestation'

export interface EvidenceSource {
  /** For people: `SEV-SNP through configfs-tsm`, `software (protects nothing)`. */
  readonly description: string
  /** Evidence bound to this nonce and to the exact bytes of this statement. */
  produce(nonce: Uint8Array, statement: Uint8Array): Promise<Evidence>
  /** Stops what it does in the background. */
  close(): void
}
