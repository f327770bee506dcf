/** The source of a worker's evidence; one implementation for each kind of machine. */
import type { Evidence } from '@privatemode/attestation'

export interface EvidenceSource {
  /** For logs: `SEV-SNP through configfs-tsm`, `software (protects nothing)`. */
  readonly description: string
  /** Evidence bound to this nonce and to the exact bytes of this statement. */
  produce(nonce: Uint8Array, statement: Uint8Array): Promise<Evidence>
  /** Stops background work. */
  close(): void
}
