/** Appraisal: does the manifest list what authentic evidence says? */
import { appraiseDevices } from './appraise-devices.ts'
import type { AuthenticEvidence } from './authenticate-worker.ts'
import type { RolePolicy, Rule } from './manifest/rule.ts'
import { appraiseSnp } from './snp/appraise.ts'
import type { SoftwareVerifier } from './software/verifier.ts'
import { appraiseTdx } from './tdx/appraise-tdx.ts'
import { AttestationError, Transcript } from './verdict.ts'

/** Accepts where one rule of the evidence's kind accepts everything; refuses with the reason. */
export function appraiseEvidence(
  evidence: AuthenticEvidence,
  policy: RolePolicy,
  software: SoftwareVerifier | undefined,
  transcript: Transcript,
): void {
  const rules = policy.accept.filter((rule) => rule.kind === evidence.cpu.kind)
  const kinds = [...new Set(policy.accept.map((rule) => rule.kind))].join(', ')
  transcript.require(
    rules.length > 0,
    'manifest/kind',
    'manifest_refused',
    `evidence is ${evidence.cpu.kind}, manifest accepts ${kinds}`,
  )
  let refusal: AttestationError | undefined
  for (const rule of rules) {
    const attempt = new Transcript()
    try {
      appraiseByRule(evidence, rule, software, attempt)
      transcript.append(attempt.checks)
      return
    } catch (error) {
      if (!(error instanceof AttestationError)) throw error
      // Of several refusals the first is told: rules are listed newest first.
      refusal ??= error
    }
  }
  if (refusal === undefined) throw new AttestationError('manifest_refused', 'no rule was tried')
  transcript.append(refusal.checks)
  const others = rules.length > 1 ? ` (and ${rules.length - 1} more rules refuse)` : ''
  throw new AttestationError(refusal.code, `${refusal.message}${others}`, {
    cause: refusal,
    checks: transcript.checks,
  })
}

function appraiseByRule(
  { cpu, devices }: AuthenticEvidence,
  rule: Rule,
  software: SoftwareVerifier | undefined,
  transcript: Transcript,
): void {
  switch (rule.kind) {
    case 'snp':
      if (cpu.kind !== 'snp') refuseKind(cpu.kind, rule, transcript)
      appraiseSnp(cpu.claims, rule.rule, transcript)
      appraiseDevices(devices, rule.devices, transcript)
      return
    case 'tdx':
      if (cpu.kind !== 'tdx') refuseKind(cpu.kind, rule, transcript)
      appraiseTdx(cpu.claims, rule.rule, transcript)
      appraiseDevices(devices, rule.devices, transcript)
      return
    case 'software':
      if (cpu.kind !== 'software' || software === undefined) refuseKind(cpu.kind, rule, transcript)
      software.appraise(cpu.claims, rule.rule, transcript)
      // A machine without protection cannot vouch for the devices in it.
      transcript.require(
        devices.length === 0,
        'software/devices',
        'policy_refused',
        `${devices.length} devices beside software evidence, expected none`,
      )
  }
}

// Rules of other kinds were left out before; a rule is never applied to claims it is not about.
function refuseKind(kind: string, rule: Rule, transcript: Transcript): never {
  return transcript.fail('manifest/kind', 'manifest_refused', `${kind} against a ${rule.kind} rule`)
}
