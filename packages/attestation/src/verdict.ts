/** The outcome of a verification: typed refusals, and a transcript of every check. */

/** The closed set of refusal codes. They are part of the API and listed in the documentation. */
export type AttestationErrorCode =
  // the bytes are not what they claim to be
  | 'evidence_malformed'
  | 'evidence_unsupported'
  | 'signature_invalid'
  | 'certificate_malformed'
  | 'certificate_expired'
  | 'chain_untrusted'
  | 'chain_mismatch'
  // genuine, but of another chip or firmware than the report names
  | 'certificate_mismatch'
  // revocation
  | 'crl_missing'
  | 'crl_invalid'
  | 'crl_stale'
  | 'revocation_unknown'
  | 'certificate_revoked'
  // vendor collateral
  | 'collateral_missing'
  | 'collateral_malformed'
  | 'collateral_invalid'
  | 'collateral_stale'
  | 'collateral_mismatch'
  // what the evidence says
  | 'nonce_mismatch'
  | 'binding_mismatch'
  | 'debug_enabled'
  | 'migration_enabled'
  | 'policy_refused'
  | 'tcb_too_old'
  | 'tcb_unlisted'
  | 'measurement_unknown'
  | 'measurement_mismatch'
  | 'device_missing'
  | 'topology_mismatch'
  | 'software_refused'
  // statement, manifest and log
  | 'statement_malformed'
  | 'statement_expired'
  | 'model_unlisted'
  | 'manifest_malformed'
  | 'manifest_unsupported'
  | 'manifest_mixed'
  | 'manifest_refused'
  | 'manifest_expired'
  | 'manifest_superseded'
  | 'log_signature_invalid'
  | 'log_inclusion_invalid'
  | 'log_forked'
  | 'log_rolled_back'
  | 'log_witnesses_missing'
  // signed, but too long ago to rule out anything newer
  | 'log_stale'
  | 'log_malformed'
  | 'log_unreachable'
  // no age can be determined
  | 'clock_untrusted'
  | 'bundle_malformed'
  | 'receipt_invalid'

/** A refusal by the verification. Act on `code`, never on the message. */
export class AttestationError extends Error {
  override readonly name = 'AttestationError'
  readonly code: AttestationErrorCode
  /** Every check up to and including the one that failed. */
  readonly checks: readonly Check[]

  constructor(
    code: AttestationErrorCode,
    message: string,
    options?: ErrorOptions & { checks?: readonly Check[] },
  ) {
    super(message, options)
    this.code = code
    this.checks = options?.checks ?? []
  }
}

/** One line of a transcript. A skipped check states why and never counts as passed. */
export type Check = {
  /** Stable name in the form `kind/what`, for example `snp/report-signature`. */
  readonly id: string
  readonly result: 'passed' | 'failed' | 'skipped'
  /** What was seen and, where relevant, what was expected. */
  readonly detail: string
}

/** Collects checks in the order they ran; the first failure throws. */
export class Transcript {
  readonly #checks: Check[] = []

  get checks(): readonly Check[] {
    return this.#checks
  }

  pass(id: string, detail: string): void {
    this.#checks.push({ id, result: 'passed', detail })
  }

  skip(id: string, reason: string): void {
    this.#checks.push({ id, result: 'skipped', detail: reason })
  }

  fail(id: string, code: AttestationErrorCode, detail: string, cause?: unknown): never {
    this.#checks.push({ id, result: 'failed', detail })
    throw new AttestationError(code, `${id}: ${detail}`, { cause, checks: this.checks })
  }

  /** Appends the checks of a separate transcript. */
  append(checks: readonly Check[]): void {
    this.#checks.push(...checks)
  }

  /** Runs a parser and records its refusal under `id`; success alone is not a check. */
  attempt<T>(id: string, work: () => T): T {
    try {
      return work()
    } catch (cause) {
      if (!(cause instanceof AttestationError)) throw cause
      return this.fail(id, cause.code, cause.message, cause)
    }
  }

  /** Records a pass if `holds`, otherwise refuses with `code`. */
  require(holds: boolean, id: string, code: AttestationErrorCode, detail: string): void {
    if (holds) this.pass(id, detail)
    else this.fail(id, code, detail)
  }
}
