/** The output of `evidence`: one line of JSON. */
import type { AttestationErrorCode, Check, RevocationState } from '@privatemode/attestation'

export type Appraisal =
  | { readonly accepted: true; readonly manifest: string }
  | { readonly accepted: false; readonly code: AttestationErrorCode; readonly message: string }

export type Verdict = {
  readonly authentic: boolean
  /** Why it is not authentic; null if it is. */
  readonly code: AttestationErrorCode | null
  readonly message: string | null
  /** What the report claims. If `authentic` is false, nothing vouches for it. */
  readonly claims: unknown
  readonly checks: readonly Check[]
  /** `not checked` if the revocation of an authentic report's certificates was not checked. */
  readonly revocation: RevocationState
  readonly appraisal?: Appraisal
}

export function formatVerdict(verdict: Verdict): string {
  return JSON.stringify(verdict, (_, value: unknown) => (isBytes(value) ? hex(value) : value))
}

/** Exit code 0 means "yes" to everything that was asked. */
export const isYes = ({ authentic, appraisal }: Verdict): boolean =>
  authentic && appraisal?.accepted !== false

const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
