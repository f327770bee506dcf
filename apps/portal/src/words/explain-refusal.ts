/** Explains in plain words why a backend was refused, and at which step. */

export type Step = 'log' | 'manifest' | 'machine' | 'network'

export type Explained = {
  readonly step: Step
  readonly meaning: string
  readonly next: string
}

const tellOperator =
  'Do not send prompts through this gateway. Tell its operator, and compare what they published elsewhere.'

/** `refusal` is the verifier's code if it refused; `code` is what the call failed with. */
export function explainRefusal(refusal: string | undefined, code: string): Explained {
  if (refusal === undefined || refusal === 'log_unreachable') return explainNetwork(code)
  if (refusal === 'log_signature_invalid') {
    return {
      step: 'log',
      meaning: 'The manifest log is not signed by the key that you trust.',
      next: 'Check the log key. If it is right, this gateway shows another log than the published one: do not use it.',
    }
  }
  if (refusal === 'log_rolled_back' || refusal === 'log_forked') {
    return {
      step: 'log',
      meaning: 'The manifest log is not a continuation of what this browser saw before.',
      next: tellOperator,
    }
  }
  if (refusal === 'log_stale' || refusal === 'manifest_expired') {
    return {
      step: refusal === 'log_stale' ? 'log' : 'manifest',
      meaning:
        'Nobody has confirmed for days that this manifest is the latest: newer ones may be withheld.',
      next: 'Ask the operator to sign the manifest log anew or to publish a new manifest. Until then nothing is sent.',
    }
  }
  if (refusal === 'clock_untrusted') {
    return {
      step: 'log',
      meaning: 'The clock of this machine is behind: how old the manifest is cannot be judged.',
      next: 'Set the clock, then verify again.',
    }
  }
  if (refusal.startsWith('log_')) {
    return {
      step: 'log',
      meaning: 'The manifest log does not prove its entry.',
      next: tellOperator,
    }
  }
  if (refusal.startsWith('manifest_')) {
    return {
      step: 'manifest',
      meaning: 'The manifest is not a valid one for this log.',
      next: tellOperator,
    }
  }
  return {
    step: 'machine',
    meaning: explainMachine(refusal),
    next: tellOperator,
  }
}

function explainMachine(refusal: string): string {
  switch (refusal) {
    case 'software_refused':
      return 'The machine has no confidential hardware, and nothing here allows that.'
    case 'measurement_unknown':
    case 'measurement_mismatch':
      return 'The machine runs other software than the manifest lists.'
    case 'nonce_mismatch':
    case 'binding_mismatch':
      return 'The evidence was not made for this request or for this key.'
    case 'chain_untrusted':
      return 'The evidence does not end in a root that you trust.'
    case 'certificate_revoked':
      return 'The vendor has revoked the certificate of this hardware.'
    case 'debug_enabled':
      return 'The machine runs in debug mode, in which its memory can be read.'
    case 'tcb_too_old':
    case 'tcb_unlisted':
      return 'The firmware of the machine is older than the manifest allows.'
    default:
      return 'The machine could not prove that it is what the manifest lists.'
  }
}

function explainNetwork(code: string): Explained {
  if (code === 'log_key_mistyped') {
    return {
      step: 'network',
      meaning: 'This is not a whole log key: a character is wrong or missing.',
      next: 'Copy the key again. It reads name+8 digits+44 characters. Nothing was asked of the gateway with it.',
    }
  }
  if (code === 'no_worker') {
    return {
      step: 'machine',
      meaning: 'The gateway lists no machine at the moment.',
      next: 'Wait until the operator has started one, then verify again.',
    }
  }
  return {
    step: 'network',
    meaning: 'The verification could not be carried out.',
    next: 'Check your network and verify again. What could not be checked counts as not verified.',
  }
}
