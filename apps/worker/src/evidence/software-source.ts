/** Software evidence: signed by a key on this machine, which protects nothing. */
import { reportData } from '@privatemode/attestation'
import {
  produceSoftwareEvidence,
  type SoftwareIdentity,
} from '@privatemode/attestation/software/producer'
import type { EvidenceSource } from './evidence-source.ts'

export function softwareSource(
  identity: SoftwareIdentity,
  measurement: Uint8Array,
): EvidenceSource {
  return {
    description: 'software (protects nothing)',
    async produce(nonce, statement) {
      const bound = await reportData({ nonce, statement, deviceReports: [] })
      const cpu = await produceSoftwareEvidence(identity, { measurement, reportData: bound })
      return { cpu, devices: [] }
    },
    close() {},
  }
}
